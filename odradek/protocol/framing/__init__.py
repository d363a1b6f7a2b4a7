"""Cuts received bytes into frames, in memory that grows as they arrive."""
