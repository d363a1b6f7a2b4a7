"""What keeps the state of share partitions: the questions that leaders of partitions and share groups ask.

Pure. Owns: the form of the questions and answers. Never does: storing. Source: ``Persister``; KIP-932.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from odradek.protocol.errors import ErrorCode
from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey

UNINITIALISED_OFFSET = -1
"""The start offset of a share partition whose start was never found."""
UNKNOWN_COUNT = -1
"""The delivery-complete count that was never stored."""


class ReadState(NamedTuple):
    """The stored state of a share partition. ``start_offset``: -1 if it was never found."""

    state_epoch: int
    start_offset: int
    batches: Sequence[StateBatch]


class StateSummary(NamedTuple):
    """What the description of a share group's offsets needs."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int


Done = Callable[[ErrorCode], None]
"""Called once, in a later or in the same turn of the event loop, when the change is durable, or with the error."""


class Persister(Protocol):
    """Stores and reads the state of share partitions, here or at another broker.

    Each question gets one answer, after ``request.timeout.ms`` at most. Errors: FENCED_LEADER_EPOCH,
    FENCED_STATE_EPOCH, INVALID_REQUEST (not initialised), UNKNOWN_TOPIC_OR_PARTITION, COORDINATOR_NOT_AVAILABLE,
    COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, REQUEST_TIMED_OUT, NETWORK_EXCEPTION.
    """

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int, done: Done) -> None:
        """Begins the state of a share partition, or begins it anew with a higher ``state_epoch``."""

    def read(
        self, key: SharePartitionKey, leader_epoch: int, done: Callable[[ErrorCode, ReadState | None], None]
    ) -> None:
        """Reads the state for the partition's leader. A new ``leader_epoch`` is stored first."""

    def write(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
        done: Done,
    ) -> None:
        """Stores changes: ``batches`` are merged with what is stored. The stored start offset never falls: a lower one,
        such as -1, keeps it, and its ``delivery_complete_count``.
        """

    def delete(self, key: SharePartitionKey, done: Done) -> None:
        """Deletes the state of a share partition."""

    def summarize(
        self, key: SharePartitionKey, leader_epoch: int, done: Callable[[ErrorCode, StateSummary | None], None]
    ) -> None:
        """Reads the summary. ``leader_epoch`` -1: not checked. A share partition without state has the start offset
        -1."""
