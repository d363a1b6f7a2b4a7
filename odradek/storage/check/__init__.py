"""Verifies every file of log directories without changing a byte."""
