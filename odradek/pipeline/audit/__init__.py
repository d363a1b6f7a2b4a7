"""The audit of log directories: `odradek audit`."""
