"""What a decision about transactions asks its shell to do: records, an answer, timers, and markers.

Owns: the vocabulary. Never does: any of it. The order matters and is the shell's: the records are appended and
replayed; once they are as durable as configured the answer goes out and the markers are written; once those are
durable, the shell comes back with ``TransactionCore.markers_written``.
"""

from typing import NamedTuple

from ..coordinator.effects import Effects, TimerKey
from .records import TransactionRecord
from .transaction import TopicPartition


class MarkerOrder(NamedTuple):
    """Markers to write into each of ``partitions``: the producer's transaction there is over."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    commits: bool
    partitions: frozenset[TopicPartition]


class TimedOutCheckDue(NamedTuple):
    """Time to abort transactions that are open for too long."""


class IdExpirationDue(NamedTuple):
    """Time to forget transactional ids that nobody has used for long."""


class TransactionEffects(Effects[TransactionRecord]):
    """What one event leads to; ``markers``: to be written once the records are as durable as configured."""

    __slots__ = ("markers",)

    def __init__(self, now_ms: int) -> None:
        super().__init__(now_ms)
        self.markers: list[MarkerOrder] = []


TIMED_OUT_CHECK_KEY: TimerKey = ("timed-out-check",)
ID_EXPIRATION_KEY: TimerKey = ("id-expiration",)
