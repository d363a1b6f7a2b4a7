"""One bit for each record of a segment: whether it is the latest of its key.

Pure. Set by passes over ranges of keys (latest_records.py), read when the segment is rewritten. Memory: a byte for
eight records. A record's number is the number of records before it in the segment, from the batch headers.
"""


class RecordMarks:
    """The marks of one segment."""

    __slots__ = ("bits",)

    def __init__(self) -> None:
        self.bits = bytearray()
        """The mark of record n is bit n % 8 of byte n // 8."""

    def reserve(self, records: int) -> None:
        """Makes room for at least `records` records."""
        missing = (records + 7) // 8 - len(self.bits)
        if missing > 0:
            self.bits.extend(bytes(missing))

    def set(self, record: int) -> None:
        """Marks a record that was reserved."""
        self.bits[record >> 3] |= 1 << (record & 7)

    def is_set(self, record: int) -> bool:
        """Whether a record was marked."""
        return bool(self.bits[record >> 3] >> (record & 7) & 1)
