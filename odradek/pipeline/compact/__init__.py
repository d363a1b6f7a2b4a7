"""Offline compaction of log directories: `odradek compact`."""
