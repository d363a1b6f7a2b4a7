"""Whether clients may append to the logs of one directory.

Owns: one flag, with the reason in words. Never does: looking at the disk (the broker's disk watch does). Invariant: it
concerns clients' records only; commits, metadata and deletes pass in any state. Source: our own; Kafka has no such
state and goes offline when its disk is full.
"""


class ProduceGate:
    """Open while `refusal` is None; else the text that producers get with KAFKA_STORAGE_ERROR."""

    __slots__ = ("refusal",)

    def __init__(self) -> None:
        self.refusal: str | None = None
