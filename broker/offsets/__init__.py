"""Committed offsets: the store, commits, fetches, deletions and their expiry. Pure; who may commit, the groups say."""
