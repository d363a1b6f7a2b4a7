"""Tests of large numbers, and what only they use."""
