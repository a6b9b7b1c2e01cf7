"""Ways to the kernel."""
