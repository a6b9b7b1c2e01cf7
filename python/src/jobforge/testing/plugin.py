"""Fixtures for pytest. The entry point `pytest11` loads them."""
