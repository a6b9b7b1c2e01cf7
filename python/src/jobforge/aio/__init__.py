"""The asynchronous client. `scripts/write_blocking.py` writes the blocking one from it."""
