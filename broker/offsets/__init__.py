"""Committed offsets: the store, commits, fetches, deletions and their expiry. Pure, like :mod:`..groups`."""
