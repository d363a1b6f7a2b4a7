"""Brokers in a cluster: tests, and what only they use."""
