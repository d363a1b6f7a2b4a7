"""What a decision about transactions asks its shell to do: records, an answer, timers, and markers.

Owns: the types. Never does: carrying them out. The order matters, and the shell keeps it: the records are appended and
replayed; once they are as durable as configured the answer goes out and the markers are written; once those are
durable, the shell calls ``TransactionCore.markers_written``.
"""

from typing import NamedTuple

from odradek.protocol.names.topics import TopicPartition

from ..coordinator.effects import Effects, TimerKey
from .records import TransactionRecord


class MarkerOrder(NamedTuple):
    """Markers to write into each of ``partitions``. They end the producer's transaction there."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    commits: bool
    partitions: frozenset[TopicPartition]
    transaction_version: int = 0
    """The transaction version of the client that ended the transaction; 0 if it is not known."""


class TimedOutCheckDue(NamedTuple):
    """The check for transactions that are open for too long is due."""


class IdExpirationDue(NamedTuple):
    """The search for transactional ids that have not been used for long is due."""


class TransactionEffects(Effects[TransactionRecord]):
    """The effects of one event. ``markers``: orders to carry out once the records are as durable as configured."""

    __slots__ = ("markers",)

    def __init__(self, now_ms: int) -> None:
        super().__init__(now_ms)
        self.markers: list[MarkerOrder] = []


TIMED_OUT_CHECK_KEY: TimerKey = ("timed-out-check",)
ID_EXPIRATION_KEY: TimerKey = ("id-expiration",)
