"""Reports what the worker does: logs, hooks, metrics and spans."""
