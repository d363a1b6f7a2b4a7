"""Tests that crash, starve and mislead brokers, and what only they use."""
