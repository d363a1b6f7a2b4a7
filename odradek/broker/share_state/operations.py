"""What can be asked about the state of one share partition, and the form of the answers.

Pure. Owns: these types. The APIs 83 to 87, the persister and the coordinator's decisions share them. Source: KIP-932.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode
from odradek.protocol.internal_records.share_batches import StateBatch

from .persister import ReadState, StateSummary


class InitializeOperation(NamedTuple):
    """InitializeShareGroupState (83)."""

    state_epoch: int
    start_offset: int


class ReadOperation(NamedTuple):
    """ReadShareGroupState (84). A new ``leader_epoch`` is stored."""

    leader_epoch: int


class WriteOperation(NamedTuple):
    """WriteShareGroupState (85)."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: Sequence[StateBatch]


class DeleteOperation(NamedTuple):
    """DeleteShareGroupState (86)."""


class SummarizeOperation(NamedTuple):
    """ReadShareGroupStateSummary (87). The coordinator does not check the leader epoch."""

    leader_epoch: int


Operation = InitializeOperation | ReadOperation | WriteOperation | DeleteOperation | SummarizeOperation


class StateOutcome(NamedTuple):
    """The answer to an operation. ``state``: what was read; None for other operations and after an error."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    state: ReadState | StateSummary | None = None


class StateProgress(NamedTuple):
    """How far a share partition is done: the start offset, and the number of records after it that are complete."""

    start_offset: int
    delivery_complete_count: int

    def advanced(self, start_offset: int, delivery_complete_count: int) -> "StateProgress":
        """The progress after a write. It never falls, so a write that is repeated late changes nothing."""
        if start_offset > self.start_offset:
            return StateProgress(start_offset, delivery_complete_count)
        if start_offset == self.start_offset:
            return StateProgress(start_offset, max(delivery_complete_count, self.delivery_complete_count))
        return self


Answer = Callable[[StateOutcome], None]
"""Called once with the outcome."""
DONE = StateOutcome()


def refused(error: ErrorCode, message: str | None = None) -> StateOutcome:
    """The outcome with an error, with Kafka's text of the error unless ``message`` is given."""
    return StateOutcome(error, error.message if message is None else message)
