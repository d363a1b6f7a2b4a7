"""Committed offsets: the store, commits, fetches, deletions, expiration.

Pure. The group decides who may commit.
"""
