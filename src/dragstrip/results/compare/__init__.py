"""What the visits of a capsule, or of two, say about stacks."""
