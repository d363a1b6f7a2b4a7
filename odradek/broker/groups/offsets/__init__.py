"""Committed offsets: the store, commits, fetches, deletions, expiration.

Pure. The modules of each kind of group decide whether a client may commit.
"""
