"""The state of share partitions in ``__share_group_state``: its coordinator, and who asks it.

Source: ``ShareCoordinatorService``, ``DefaultStatePersister``; KIP-932.
"""
