"""Where handlers run: on the event loop, in threads, or in processes."""
