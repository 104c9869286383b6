"""What client and workers call things."""

RESOURCE = "testbed"
"""Of a worker: how many attempts it has room for. A task takes one."""
