"""No models: the kernel owns its tables. With this module, Django tells the application when it has migrated."""
