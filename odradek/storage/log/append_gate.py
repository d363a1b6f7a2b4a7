"""Whether clients may append to the logs of one directory, and how suitable it is for new partitions.

Owns: the reason why clients are refused, and whether space is low. Never does: checking the disk (the broker's disk
watch does). Invariant: only clients' records are refused. Offset commits, metadata and deletions always pass. Source:
our own; Kafka has no such state and takes the directory offline when its disk is full.
"""


class AppendGate:
    """Open if `refusal` is None. Otherwise `refusal` is the message that producers get with KAFKA_STORAGE_ERROR.

    `is_low`: free space is low, so other directories are preferred for new partitions.
    """

    __slots__ = ("is_low", "refusal")

    def __init__(self) -> None:
        self.refusal: str | None = None
        self.is_low = False

    @property
    def shortage(self) -> int:
        """0 with enough free space, 1 with little, 2 with none. New partitions go to the directory with the lowest."""
        return 2 if self.refusal is not None else int(self.is_low)
