"""The parts of the adapter for the Python package."""
