"""Our broker with other client libraries and tools: tests, and what only they use."""
