"""What connectors may reach, and requests that are checked on the way."""
