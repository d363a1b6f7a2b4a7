"""What the runtime of coordinators needs: a core for each partition, and its log."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from ...protocol.errors import ErrorCode
from .effects import Effects

EffectsOf = TypeVar("EffectsOf", bound=Effects[Any])


class CoordinatorCore(Protocol[EffectsOf]):
    """What decides for one partition, without I/O or a clock.

    Durable state changes in the ``replay`` methods only. docs/architecture.md lists what changes in a decision.
    """

    def effects(self, now_ms: int) -> EffectsOf:
        """An empty list of effects for an event at ``now_ms``."""

    def load(self, key: bytes | None, value: bytes | None, offset: int, producer_id: int, now_ms: int) -> None:
        """Takes in a stored record; ``producer_id`` of the transaction that it is part of, or -1.

        A record of an unknown type is skipped. Raises ProtocolError for one that can't be taken in.
        """

    def replay(self, record: Any, offset: int, producer_id: int, now_ms: int) -> None:
        """Takes in a record that was just appended at ``offset``."""

    def replay_end_transaction(self, producer_id: int, committed: bool) -> None:
        """Takes in the marker of a client's transaction."""

    def on_loaded(self, effects: EffectsOf) -> None:
        """All records were replayed."""

    def on_unloaded(self, effects: EffectsOf) -> None:
        """The partition goes elsewhere."""

    def handle_timer(self, event: Any, effects: EffectsOf) -> None:
        """A timer has fired."""


class CoordinatorLog(Protocol):
    """One partition of a coordinator's topic, led by this broker."""

    @property
    def leader_epoch(self) -> int:
        """The epoch in which this broker leads the partition: to others, the epoch of the coordinator."""

    def append(self, batch: bytes, now_ms: int) -> int:
        """Appends one record batch; the offset of its first record. Raises KafkaError with the reason."""

    def is_durable(self) -> bool:
        """Whether everything appended so far is as durable as configured: :meth:`when_durable` would not wait."""

    def when_durable(self, callback: Callable[[ErrorCode], None]) -> None:
        """Calls back when everything appended so far is as durable as configured; at once where it is already.

        With the error where it never will be: the log can't be used any more.
        """

    def read_batches(self) -> Iterator[bytes | memoryview]:
        """All that is stored, in order, in buffers of whole batches."""

    def place_of(self, offset: int) -> str:
        """The file that holds an offset, for an error's text."""
