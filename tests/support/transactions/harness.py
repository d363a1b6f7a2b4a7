"""The transaction and the group coordinator with logs, a clock, timers and topics in memory.

Requests go through the handlers of ``broker/api``. Each log knows its synced part: a power failure may truncate it
anywhere after that.
"""

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, cast

from odradek.broker.dispatch.request import RequestContext
from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.replicas.partitions import Partitions
from odradek.broker.transactions.config import TransactionCoordinatorConfig
from odradek.broker.transactions.coordinator import TransactionCoordinator
from odradek.broker.transactions.marker_writer import MarkerWriter
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.names.topics import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.protocol.records.batch import BatchHeader, Buffer, read_header, stamp
from odradek.protocol.records.record import iterate_records
from odradek.storage.producers.producer_state import ProducerStateManager, read_marker
from support.brokers.parts import CalledForTopics, ImageOnly, PartialBroker, ProducerIdsFrom
from support.groups.harness import VirtualTimers, image_with_topics

TopicPartition = tuple[str, int]
BATCHES_BETWEEN_FLOORS = 100


@dataclass
class Floor:
    """The state of a log up to a synced batch, which a recovery need not read again."""

    batches: int = 0
    next_offset: int = 0
    aborted: int = 0
    producer_state: ProducerStateManager = field(default_factory=ProducerStateManager)


class SyncedLog:
    """A partition's log with its producers. Appends are durable after :meth:`sync`, or at once if ``is_synced``."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.next_offset = 0
        self.synced = 0
        self.is_synced = True
        self.fail_next: ErrorCode | None = None
        self.producer_state = ProducerStateManager()
        self.aborted: list[tuple[int, int, int]] = []
        """(producer id, first offset, offset of the marker) of aborted transactions."""
        self.log = self
        self._waiting: list[Callable[[ErrorCode], None]] = []
        self._floor = Floor()

    @property
    def leader_epoch(self) -> int:
        return 0

    def append(self, batch: Buffer, now_ms: int, *, from_client: bool = False, transaction_version: int = 0) -> int:
        if self.fail_next is not None:
            error, self.fail_next = self.fail_next, None
            raise KafkaError(error)
        header = read_header(batch)
        offset = self.next_offset
        if header.is_control:
            marker = read_marker(batch, header)
            assert marker is not None
            self.producer_state.check_marker(header, marker[0], offset, transaction_version)
        elif header.has_producer_id:
            duplicate = self.producer_state.check(header, offset, from_client=from_client)
            if duplicate is not None:
                return duplicate.first_offset
        stamped = bytearray(batch)
        stamp(stamped, 0, offset, 0)
        self.batches.append(bytes(stamped))
        self._apply_append(bytes(stamped))
        if self.is_synced:
            self.synced = len(self.batches)
        return offset

    def append_marker(self, batch: bytes, now_ms: int, transaction_version: int) -> int:
        return self.append(batch, now_ms, transaction_version=transaction_version)

    def _apply_append(self, batch: bytes) -> None:
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

    def stores_at_once(self) -> bool:
        return False

    def is_durable(self) -> bool:
        return self.synced == len(self.batches)

    def when_durable(self, callback: Callable[[ErrorCode], None]) -> None:
        if self.is_durable():
            callback(ErrorCode.NONE)
        else:
            self._waiting.append(callback)

    def sync(self) -> None:
        self.synced = len(self.batches)
        if self.synced - self._floor.batches >= BATCHES_BETWEEN_FLOORS:
            self._set_floor()
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback(ErrorCode.NONE)

    def lose_power(self, rng: random.Random) -> None:
        """Loses unsynced data, or part of it. Waiting requests are dropped."""
        kept = self.batches[: rng.randint(self.synced, len(self.batches))]
        self._waiting.clear()
        floor = self._floor
        self.batches, self.next_offset = kept[: floor.batches], floor.next_offset
        self.producer_state = deepcopy(floor.producer_state)
        del self.aborted[floor.aborted :]
        for batch in kept[floor.batches :]:
            self.batches.append(batch)
            self._apply_append(batch)
        self.synced = len(kept)

    def _set_floor(self) -> None:
        state = deepcopy(self.producer_state)
        self._floor = Floor(len(self.batches), self.next_offset, len(self.aborted), state)

    def compact(self) -> None:
        """Cleans a synced log as the log cleaner does.

        The last decided record of each key stays. A marker stays as long as its data, and if it is the last record of a
        producer.
        """
        assert self.synced == len(self.batches)
        headers = [read_header(batch) for batch in self.batches]
        last_of_key: dict[bytes | None, int] = {}
        last_of_producer: dict[int, int] = {}
        kept = set()
        for index, (batch, header) in enumerate(zip(self.batches, headers, strict=True)):
            if header.has_producer_id:
                last_of_producer[header.producer_id] = index
            if header.base_offset >= self.last_stable_offset:
                kept.add(index)
            elif not header.is_control and not self._is_aborted(header):
                last_of_key.update((record.key, index) for record in iterate_records(batch, header))
        kept |= {*last_of_key.values(), *last_of_producer.values()}
        next_marker: dict[int, int] = {}
        for index in range(len(headers) - 1, -1, -1):
            header = headers[index]
            if header.is_control:
                next_marker[header.producer_id] = index
            elif header.is_transactional and index in kept and header.producer_id in next_marker:
                kept.add(next_marker[header.producer_id])
        self.batches = [batch for index, batch in enumerate(self.batches) if index in kept]
        self.synced = len(self.batches)
        self._set_floor()

    def _is_aborted(self, header: BatchHeader) -> bool:
        # From the end, because callers mostly ask for recent records.
        for producer_id, first, last in reversed(self.aborted):
            if last < header.base_offset:
                return False
            if producer_id == header.producer_id and first <= header.base_offset:
                return True
        return False

    def read_batches(self) -> Iterator[bytes]:
        yield from self.batches

    def place_of(self, offset: int) -> str:
        return "memory"

    @property
    def last_stable_offset(self) -> int:
        unstable = self.producer_state.first_unstable_offset
        return self.next_offset if unstable is None else unstable

    def headers(self) -> Iterator[BatchHeader]:
        return map(read_header, self.batches)

    def committed_values(self) -> list[bytes]:
        """The values that a reader of committed data sees, in order."""
        settled, later, _ = self.committed_since(0)
        return settled + later

    def committed_since(self, start: int) -> tuple[list[bytes], list[bytes], int]:
        """The values that a reader of committed data sees from batch `start` on: the durable ones, those that a power
        failure may still remove, and the index of the first batch that is not durable.
        """
        settled: list[bytes] = []
        later: list[bytes] = []
        end = start
        for index in range(start, len(self.batches)):
            batch = self.batches[index]
            header = read_header(batch)
            if header.base_offset >= self.last_stable_offset:
                break
            if index < self.synced:
                end = index + 1
            if not header.is_control and not self._is_aborted(header):
                values = settled if index < self.synced else later
                values += [record.value or b"" for record in iterate_records(batch, header)]
        return settled, later, end


class LogsOfPartitions(dict[TopicPartition, SyncedLog]):
    """The part of ``broker.partitions`` that the handlers of transactions need."""

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
        self.lost_ms = 0
        self._life = 0
        self.start()

    def start(self) -> None:
        """Starts coordinators that load the logs. Requests that waited before are never answered."""
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
            self.config.request_timeout_ms,
        )
        self.coordinator = TransactionCoordinator(
            self.config,
            markers,
            self.timers,
            self._clock,
            lambda: next(self.producer_ids),
            lambda: self.transaction_version,
            lambda: self.lost_ms,
            lambda _: None,
        )
        self.broker = PartialBroker(
            group_coordinator=groups,
            transaction_coordinator=self.coordinator,
            partitions=cast(Partitions, self.partitions),
            metadata=ImageOnly(self.image),
            auto_topic_creation=CalledForTopics(),
            producer_ids=ProducerIdsFrom(self.producer_ids),
        )
        groups.elect(0, self.partitions[OFFSETS_TOPIC, 0])
        self.coordinator.elect(0, self.partitions[TRANSACTION_STATE_TOPIC, 0])

    def _clock(self) -> int:
        return self.timers.now_ms

    @property
    def core(self) -> Any:
        return self.coordinator.shard_of("").core

    def lose_power(self, rng: random.Random) -> None:
        """Ends both coordinators. Each log keeps its synced part, and perhaps more."""
        for (topic, _), log in self.partitions.items():
            log.lose_power(rng)
            if topic in (OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC):
                log.compact()
        self.start()

    def send(self, api: ApiKey, version: int, request: Any, on_answer: Callable[[Any], None]) -> None:
        """Sends a request; its answer comes now or later, or never if the broker goes down first."""
        life = self._life

        def reply(response: Any) -> None:
            if life == self._life:
                on_answer(response)

        context = RequestContext(api, version, "client", "127.0.0.1", "PLAINTEXT", 0, self.timers.now_ms)
        steps = import_module(f"odradek.broker.api.{api.name.lower()}").handle(self.broker, request, context, reply)
        for _ in steps or ():
            pass

    def ask(self, api: ApiKey, version: int, request: Any) -> Any:
        """Sends a request that is answered at once; returns the answer."""
        answers: list[Any] = []
        self.send(api, version, request, answers.append)
        [answer] = answers
        return answer
