"""Runs claimed jobs: from a slot to the end that is settled."""
