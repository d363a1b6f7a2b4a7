"""The transaction index of a segment: the aborted transactions whose markers it holds.

    entry    int16 version (0), int64 producer id, int64 first offset, int64 last offset (of the marker),
             int64 last stable offset when it was written

Most segments have no aborted transactions and no file. Held in memory and written like the offset index. Invariant:
last offsets rise. Source: Kafka's TransactionIndex and AbortedTxn.
"""

from struct import Struct
from typing import NamedTuple

from ..errors import CorruptIndexError

ENTRY = Struct(">hqqqq")
CURRENT_VERSION = 0


class AbortedTransaction(NamedTuple):
    """A transaction that readers of committed data skip: its offsets, inclusive, and the LSO at its end."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """The aborted transactions of one segment in the order of their markers."""

    __slots__ = ("entries", "saved_entries")

    def __init__(self, base_offset: int, data: bytes = b"") -> None:
        """Parses the file's bytes. Raises CorruptIndexError for entries of another version and for entries that do not
        rise.
        """
        self.entries: list[AbortedTransaction] = []
        for version, *fields in ENTRY.iter_unpack(data[: len(data) // ENTRY.size * ENTRY.size]):
            entry = AbortedTransaction(*fields)
            previous = self.entries[-1].last_offset if self.entries else base_offset - 1
            # A marker comes after its transaction. Zeros, which a power failure may leave, are not an entry.
            is_behind = entry.last_offset > max(previous, entry.first_offset)
            if version != CURRENT_VERSION or not is_behind or entry.last_stable_offset > entry.last_offset + 1:
                raise CorruptIndexError(
                    f"invalid entry {entry} of version {version} in the transaction index of segment {base_offset}"
                )
            self.entries.append(entry)
        self.saved_entries = len(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def append(self, entry: AbortedTransaction) -> None:
        """Adds an entry; its last offset must be greater than the last entry's."""
        assert not self.entries or entry.last_offset > self.entries[-1].last_offset, f"{entry} does not rise"
        self.entries.append(entry)

    def truncate_to(self, offset: int) -> None:
        """Drops the transactions whose marker is at `offset` or later."""
        self.entries = [entry for entry in self.entries if entry.last_offset < offset]
        self.saved_entries = -1

    def collect(self, fetch_offset: int, upper_bound_offset: int) -> tuple[list[AbortedTransaction], bool]:
        """The transactions that overlap `[fetch_offset, upper_bound_offset)`.

        Also returns whether these are all: no later segment can have more.
        """
        found: list[AbortedTransaction] = []
        for entry in self.entries:
            if entry.last_offset >= fetch_offset and entry.first_offset < upper_bound_offset:
                found.append(entry)
            if entry.last_stable_offset >= upper_bound_offset:
                return found, True
        return found, False

    def to_bytes(self) -> bytes:
        """The file's bytes."""
        return b"".join(ENTRY.pack(CURRENT_VERSION, *entry) for entry in self.entries)
