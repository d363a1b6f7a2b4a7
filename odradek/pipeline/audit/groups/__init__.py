"""The audit of groups and committed offsets."""
