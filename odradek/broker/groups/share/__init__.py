"""Share groups (KIP-932): members, epochs, target assignments, and which share partitions have stored state.

Pure but for log lines; :mod:`.state_requests` is the shell that asks the persister. Never does: fetching, locking or
acknowledging records (:mod:`...share_partitions`). Source: ``ShareGroup``, ``GroupMetadataManager``.
"""
