"""From a key to the offset of its latest record: what decides which records of a compacted log stay.

Exact: it holds the keys themselves, where Kafka's SkimpyOffsetMap holds MD5 hashes and trusts them not to collide.
Pure. Bounded: a full map refuses keys it does not hold, and the round then ends before that batch. Source: Kafka's
SkimpyOffsetMap, Cleaner.buildOffsetMap.

Sketch of costs: about 100 bytes and the key for each key; 5 million keys of 20 bytes take 0.7 GB.
"""

DEFAULT_MAX_ENTRIES = 5_000_000


class OffsetMap:
    """The latest offset of each key in the part of the log that has not been cleaned yet."""

    __slots__ = ("_offsets", "latest_offset", "max_entries")

    def __init__(self, max_entries: int = DEFAULT_MAX_ENTRIES) -> None:
        self._offsets: dict[bytes, int] = {}
        self.max_entries = max_entries
        self.latest_offset = -1
        """The last offset that the map speaks for; records behind it are kept whatever their key."""

    def __len__(self) -> int:
        return len(self._offsets)

    def put_all(self, latest: dict[bytes, int]) -> bool:
        """Takes in a batch's keys with their last offsets, all or none; whether there was room."""
        if len(self._offsets) + len(latest) > self.max_entries:
            new = sum(1 for key in latest if key not in self._offsets)
            if len(self._offsets) + new > self.max_entries:
                return False
        self._offsets.update(latest)
        return True

    def get(self, key: bytes) -> int:
        """The latest offset of `key`, -1 if the map does not hold it."""
        return self._offsets.get(key, -1)

    def advance_to(self, offset: int) -> None:
        """Everything up to `offset` has been read."""
        self.latest_offset = max(self.latest_offset, offset)
