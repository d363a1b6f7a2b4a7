"""Tests that pass a log directory from Kafka to Odradek and back, and what only they use."""
