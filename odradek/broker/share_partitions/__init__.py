"""The leader's side of share groups: which record is with which member, sessions, ShareFetch and ShareAcknowledge.

Source: ``SharePartitionManager``, ``SharePartition``; KIP-932.
"""
