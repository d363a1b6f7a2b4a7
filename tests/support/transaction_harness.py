"""The transaction and the group coordinator with everything around them in memory: logs, clock, timers, topics.

Requests go through the handlers of ``broker/api``. Logs remember what was synced: a power failure may cut each of them
anywhere behind that.
"""

import random
from collections.abc import Callable, Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from odradek.broker.coordinator.group_coordinator import GroupCoordinator
from odradek.broker.coordinator.marker_writer import MarkerWriter
from odradek.broker.coordinator.transaction_coordinator import TransactionCoordinator
from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.internal_topics import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.broker.request import RequestContext
from odradek.broker.transactions.config import TransactionCoordinatorConfig
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import BatchHeader, iterate_headers, read_header, stamp
from odradek.protocol.records.record import iterate_records
from odradek.storage.producer_state import ProducerState
from odradek.storage.transaction_markers import read_marker
from support.group_harness import VirtualTimers, image_with_topics

TopicPartition = tuple[str, int]


class SyncedLog:
    """A partition's log with its producers. Appends are durable with :meth:`sync`, at once where ``is_synced``."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.next_offset = 0
        self.synced = 0
        self.is_synced = True
        self.fail_next: ErrorCode | None = None
        self.producer_state = ProducerState()
        self.aborted: list[tuple[int, int, int]] = []
        """(producer id, first offset, offset of the marker) of aborted transactions."""
        self.log = self
        self._waiting: list[Callable[[ErrorCode], None]] = []

    @property
    def leader_epoch(self) -> int:
        return 0

    def append(self, batch: bytes, now_ms: int, *, from_client: bool = False) -> int:
        if self.fail_next is not None:
            error, self.fail_next = self.fail_next, None
            raise KafkaError(error)
        header = read_header(batch)
        offset = self.next_offset
        if header.is_control:
            marker = read_marker(batch, header)
            assert marker is not None
            self.producer_state.check_marker(header, marker[0], offset)
        elif header.has_producer_id:
            duplicate = self.producer_state.check(header, offset, from_client=from_client)
            if duplicate is not None:
                return duplicate.first_offset
        stamped = bytearray(batch)
        stamp(stamped, 0, offset, 0)
        self.batches.append(bytes(stamped))
        self._take_in(bytes(stamped))
        if self.is_synced:
            self.synced = len(self.batches)
        return offset

    def _take_in(self, batch: bytes) -> None:
        header = read_header(batch)
        self.next_offset = header.next_offset
        if header.is_control:
            marker = read_marker(batch, header)
            assert marker is not None
            done = self.producer_state.apply_marker(header, marker[0], header.base_offset, marker[1])
            if done is not None and done.is_aborted:
                self.aborted.append((done.producer_id, done.first_offset, done.last_offset))
        elif header.has_producer_id:
            self.producer_state.apply(header, header.base_offset)
        self.producer_state.forget_unreplicated(self.next_offset)

    def when_durable(self, callback: Callable[[ErrorCode], None]) -> None:
        if self.synced == len(self.batches):
            callback(ErrorCode.NONE)
        else:
            self._waiting.append(callback)

    def sync(self) -> None:
        self.synced = len(self.batches)
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback(ErrorCode.NONE)

    def lose_power(self, rng: random.Random) -> None:
        """What was not synced may be gone; nobody waits any more."""
        kept = self.batches[: rng.randint(self.synced, len(self.batches))]
        self._waiting.clear()
        self.batches, self.next_offset, self.aborted = [], 0, []
        self.producer_state = ProducerState()
        for batch in kept:
            self.batches.append(batch)
            self._take_in(batch)
        self.synced = len(kept)

    def read_batches(self) -> Iterator[bytes]:
        yield from self.batches

    @property
    def last_stable_offset(self) -> int:
        unstable = self.producer_state.first_unstable_offset
        return self.next_offset if unstable is None else unstable

    def headers(self) -> Iterator[tuple[bytes, BatchHeader]]:
        for batch in self.batches:
            for _, header in iterate_headers(batch):
                yield batch, header

    def committed_values(self) -> list[bytes]:
        """What a reader of committed data sees, in order."""
        return [
            record.value or b""
            for batch, header in self.headers()
            if not header.is_control and header.base_offset < self.last_stable_offset
            if not any(
                producer_id == header.producer_id and first <= header.base_offset < last
                for producer_id, first, last in self.aborted
            )
            for record in iterate_records(batch, header)
        ]


class LogsOfPartitions(dict[TopicPartition, SyncedLog]):
    """``broker.partitions``, as far as the handlers of transactions need it."""

    def get(self, topic: str, index: int) -> SyncedLog:  # type: ignore[override]
        log = super().get((topic, index))
        if log is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return log


class TransactionHarness:
    """Both coordinators with one partition each, and the partitions of topic ``t``."""

    def __init__(self, partitions: int = 3, transaction_version: int = 2, *, is_synced: bool = True) -> None:
        self.timers = VirtualTimers()
        self.partitions = LogsOfPartitions()
        names = [("t", index) for index in range(partitions)] + [(OFFSETS_TOPIC, 0), (TRANSACTION_STATE_TOPIC, 0)]
        for name in names:
            self.partitions[name] = SyncedLog()
            self.partitions[name].is_synced = is_synced
        self.image = image_with_topics({"t": (b"t" * 16, partitions)})
        self.config = TransactionCoordinatorConfig(transaction_state_log_num_partitions=1)
        self.transaction_version = transaction_version
        self.producer_ids = iter(range(1_000_000, 2_000_000))
        self._life = 0
        self.start()

    def start(self) -> None:
        """Starts coordinators that load the logs; what was parked before is never answered."""
        self._life += 1
        self.timers.clear()
        groups = GroupCoordinator(
            GroupCoordinatorConfig(offsets_topic_num_partitions=1),
            self.timers,
            self._clock,
            lambda: "u",
            lambda _: None,
        )
        markers = MarkerWriter(
            self.partitions,  # type: ignore[arg-type]
            groups,
            lambda partition: partition,  # type: ignore[arg-type, return-value]
            self.timers,
            self._clock,
        )
        self.coordinator = TransactionCoordinator(
            self.config,
            markers,
            self.timers,
            self._clock,
            lambda: next(self.producer_ids),
            lambda: self.transaction_version,
            lambda _: None,
        )
        self.broker = SimpleNamespace(
            group_coordinator=groups,
            transaction_coordinator=self.coordinator,
            partitions=self.partitions,
            metadata=SimpleNamespace(
                image=self.image,
                ensure_topic=lambda *_: None,
                next_producer_id=lambda _: next(self.producer_ids),
            ),
        )
        groups.elect(0, self.partitions[OFFSETS_TOPIC, 0])
        self.coordinator.elect(0, self.partitions[TRANSACTION_STATE_TOPIC, 0])

    def _clock(self) -> int:
        return self.timers.now_ms

    @property
    def core(self) -> Any:
        return self.coordinator.shard_of("").core

    def lose_power(self, rng: random.Random) -> None:
        """Everything goes down; each log keeps what was synced, and perhaps more."""
        for log in self.partitions.values():
            log.lose_power(rng)
        self.start()

    def send(self, api: ApiKey, version: int, request: Any, on_answer: Callable[[Any], None]) -> None:
        """Sends a request; its answer comes now or later, or never if the broker goes down first."""
        life = self._life

        def reply(response: Any) -> None:
            if life == self._life:
                on_answer(response)

        context = RequestContext(api, version, "client", "127.0.0.1", "PLAINTEXT", 0, self.timers.now_ms)
        import_module(f"odradek.broker.api.{api.name.lower()}").handle(self.broker, request, context, reply)

    def ask(self, api: ApiKey, version: int, request: Any) -> Any:
        """Sends a request that is answered at once; the answer."""
        answers: list[Any] = []
        self.send(api, version, request, answers.append)
        [answer] = answers
        return answer
