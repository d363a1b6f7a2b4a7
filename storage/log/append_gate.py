"""Whether clients may append to the logs of one directory, and whether it is a good place for new ones.

Owns: the two answers, the first with its reason in words. Never does: looking at the disk (the broker's disk watch
does). Invariant: it concerns clients' records only; commits, metadata and deletes pass in any state. Source: our own;
Kafka has no such state and goes offline when its disk is full.
"""


class ProduceGate:
    """Open while `refusal` is None; else the text that producers get with KAFKA_STORAGE_ERROR.

    `is_low`: there is little room, so that new partitions had better lie elsewhere.
    """

    __slots__ = ("is_low", "refusal")

    def __init__(self) -> None:
        self.refusal: str | None = None
        self.is_low = False

    @property
    def shortage(self) -> int:
        """0 with room, 1 with little, 2 with none: the order in which directories are to take new partitions."""
        return 2 if self.refusal is not None else int(self.is_low)
