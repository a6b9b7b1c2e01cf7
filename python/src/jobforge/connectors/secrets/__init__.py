"""References to secrets, and what removes their values from results."""
