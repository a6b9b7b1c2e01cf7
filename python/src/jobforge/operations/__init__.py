"""What the clients can do, without any input or output: each operation is a call, or steps of calls.

The blocking and the asynchronous client run the same operations.
"""
