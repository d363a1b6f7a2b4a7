"""Tests of our broker with other client libraries and tools, and their helpers."""
