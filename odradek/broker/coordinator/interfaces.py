"""The interfaces that the runtime of coordinators uses: the core of a partition, and its log."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.batch import Buffer

from .effects import Effects

EffectsOf = TypeVar("EffectsOf", bound=Effects[Any])


class CoordinatorCore(Protocol[EffectsOf]):
    """The decisions for one partition, without I/O or a clock.

    Durable state changes in the ``replay`` methods only. docs/developers/broker-internals.md lists what changes in a
    decision.
    """

    def effects(self, now_ms: int) -> EffectsOf:
        """An empty list of effects for an event at ``now_ms``."""

    def load(self, key: bytes | None, value: bytes | None, offset: int, producer_id: int, now_ms: int) -> None:
        """Replays a stored record. ``producer_id``: that of the transaction that it is part of, or -1.

        A record of an unknown type is skipped. Raises ProtocolError if the record cannot be replayed.
        """

    def replay(self, record: Any, offset: int, producer_id: int, now_ms: int) -> None:
        """Replays a record that was just appended at ``offset``."""

    def replay_end_transaction(self, producer_id: int, committed: bool) -> None:
        """Replays the marker of a client's transaction."""

    def on_loaded(self, effects: EffectsOf) -> None:
        """Called after all records were replayed."""

    def on_unloaded(self, effects: EffectsOf) -> None:
        """Called when this broker stops serving the partition."""

    def handle_timer(self, event: Any, effects: EffectsOf) -> None:
        """Handles the event of a timer that has fired."""


class CoordinatorLog(Protocol):
    """One partition of a coordinator's topic, led by this broker."""

    @property
    def leader_epoch(self) -> int:
        """The leader epoch of the partition, which is also the epoch of the coordinator."""

    def append(self, batch: Buffer, now_ms: int) -> int:
        """Appends one record batch, which is not kept. Returns the offset of its first record. Raises KafkaError."""

    def append_marker(self, batch: bytes, now_ms: int, transaction_version: int) -> int:
        """Appends the marker of a client's transaction. ``transaction_version``: that of the client (KIP-1228).

        Raises KafkaError.
        """

    def stores_at_once(self) -> bool:
        """Whether an append is as durable as configured when it returns."""

    def is_durable(self) -> bool:
        """Whether everything appended so far is as durable as configured: :meth:`when_durable` would not wait."""

    def when_durable(self, callback: Callable[[ErrorCode], None]) -> None:
        """Calls back when everything appended so far is as durable as configured; at once if it already is.

        The argument is an error if the log cannot be used any more.
        """

    def read_batches(self) -> Iterator[bytes | memoryview]:
        """Yields everything that is stored, in order, in buffers of whole batches."""

    def place_of(self, offset: int) -> str:
        """The path of the file that holds an offset, for error texts."""
