"""Which records of a state partition no state needs any more.

Pure. Owns: the offset of the last snapshot of each share partition. Source: ``ShareCoordinatorOffsetsManager``.
"""

from odradek.protocol.internal_records.share_partition_key import SharePartitionKey


class SnapshotOffsets:
    """The offsets of the last snapshots, in order. All records below the first of them can be deleted."""

    __slots__ = ("_alone", "_offsets")

    def __init__(self) -> None:
        self._offsets: dict[SharePartitionKey, int] = {}
        """In the order of the offsets: the log grows at its end, so the last written key moves to the end."""
        self._alone = 0
        """The offset of a tombstone that left no other state."""

    def written(self, key: SharePartitionKey, offset: int) -> None:
        """Notes a snapshot."""
        self._offsets.pop(key, None)
        self._offsets[key] = offset

    def deleted(self, key: SharePartitionKey, offset: int) -> None:
        """Notes a tombstone."""
        self._offsets.pop(key, None)
        self._alone = offset

    @property
    def needed_from(self) -> int:
        """The first offset that is needed. 0: none may be deleted."""
        return next(iter(self._offsets.values()), self._alone)
