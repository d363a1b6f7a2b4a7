"""What keeps the state of share partitions: the questions that leaders of partitions and share groups ask.

Pure. Owns: the form of the questions and answers. Never does: storing. Source: ``Persister``; KIP-932.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from odradek.protocol.errors import ErrorCode

_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}(==)?")
"""A topic id in Kafka's text form: base64, with or without its padding."""
_NUMBER = re.compile(r"[+-]?[0-9]+")
UNINITIALISED_OFFSET = -1
"""The start offset of a share partition whose start was never found."""
UNKNOWN_COUNT = -1
"""The delivery-complete count that was never stored."""


class SharePartitionKey(NamedTuple):
    """One partition of a topic, as one share group sees it."""

    group_id: str
    topic_id: bytes
    partition: int

    @property
    def coordinator_key(self) -> str:
        """The text by which FindCoordinator finds the share coordinator: ``group:topicId:partition``."""
        topic_id = urlsafe_b64encode(self.topic_id).rstrip(b"=").decode()
        return f"{self.group_id}:{topic_id}:{self.partition}"

    @classmethod
    def parsed(cls, text: str) -> "SharePartitionKey | None":
        """The share partition with this coordinator key; None if it is malformed. The group id may contain colons.

        As ``SharePartitionKey.getInstance``, which drops colons at the end.
        """
        group_id, _, rest = text.rstrip(":").rpartition(":")
        group_id, _, topic_id = group_id.rpartition(":")
        if not group_id.strip() or not _NUMBER.fullmatch(rest) or not _TOPIC_ID.fullmatch(topic_id):
            return None
        partition = int(rest)
        if not -0x8000_0000 <= partition <= 0x7FFF_FFFF:
            return None
        return cls(group_id, urlsafe_b64decode(topic_id[:22] + "=="), partition)


class StateBatch(NamedTuple):
    """Neighbouring records with the same delivery state (0 available, 2 acknowledged, 3 archiving, 4 archived) and
    delivery count."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


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
