"""Gathers single enqueues that are made at the same time.

They are sent together, as one statement with one commit. Each caller gets its own outcome or error. A call that is
alone is sent at once, as it is. A job that the gathered statement rejects is sent alone, so that it gets its own error,
or waits for its key without making others wait.
"""
