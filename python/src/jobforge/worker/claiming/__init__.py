"""Claims jobs and settles runs: the calls to the database."""
