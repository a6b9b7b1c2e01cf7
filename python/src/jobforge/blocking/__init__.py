"""The blocking client. `scripts/write_blocking.py` writes it from `jobforge.aio`: do not edit it."""
