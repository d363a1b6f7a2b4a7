"""A persister in memory: it stores the state of share partitions, and fails or loses questions as a test wishes."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

from odradek.broker.share_state.persister import UNINITIALISED_OFFSET, UNKNOWN_COUNT, Done, ReadState, StateSummary
from odradek.protocol.errors import ErrorCode
from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey


@dataclass
class MemoryPersister:
    """``states``: state epoch, start offset and delivery-complete count of each share partition that was initialized.

    ``fail``: the error of each further question. ``held``: questions are kept until :meth:`release`.
    """

    states: dict[SharePartitionKey, tuple[int, int, int]] = field(default_factory=dict)
    fail: ErrorCode = ErrorCode.NONE
    held: bool = False
    asked: list[tuple[str, SharePartitionKey]] = field(default_factory=list)
    waiting: list[Callable[[], None]] = field(default_factory=list)

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int, done: Done) -> None:
        def store() -> None:
            known = self.states.get(key)
            if known is not None and known[0] > state_epoch:
                done(ErrorCode.FENCED_STATE_EPOCH)
                return
            self.states[key] = (state_epoch, start_offset, UNKNOWN_COUNT if start_offset < 0 else 0)
            done(ErrorCode.NONE)

        self._answer("initialize", key, store, done)

    def read(
        self, key: SharePartitionKey, leader_epoch: int, done: Callable[[ErrorCode, ReadState | None], None]
    ) -> None:
        raise AssertionError("groups do not read")

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
        raise AssertionError("groups do not write")

    def delete(self, key: SharePartitionKey, done: Done) -> None:
        def forget() -> None:
            self.states.pop(key, None)
            done(ErrorCode.NONE)

        self._answer("delete", key, forget, done)

    def summarize(
        self, key: SharePartitionKey, leader_epoch: int, done: Callable[[ErrorCode, StateSummary | None], None]
    ) -> None:
        def answer() -> None:
            epoch, offset, count = self.states.get(key, (0, UNINITIALISED_OFFSET, UNKNOWN_COUNT))
            done(ErrorCode.NONE, StateSummary(epoch, 0, offset, count))

        self._answer("summarize", key, answer, lambda error: done(error, None))

    def drop_topics(self, existing: Container[bytes]) -> None:
        """Drops the states of topics that are not among the topic ids ``existing``, as the share coordinator does."""
        self.states = {key: state for key, state in self.states.items() if key.topic_id in existing}

    def release(self) -> None:
        """Answers the questions that were kept."""
        self.held = False
        waiting, self.waiting = self.waiting, []
        for answer in waiting:
            answer()

    def _answer(self, what: str, key: SharePartitionKey, succeed: Callable[[], None], done: Done) -> None:
        self.asked.append((what, key))
        error = self.fail

        def answer() -> None:
            if error:
                done(error)
            else:
                succeed()

        if self.held:
            self.waiting.append(answer)
        else:
            answer()
