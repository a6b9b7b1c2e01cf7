"""Large contents outside of the database."""
