"""The group coordinator with a log, clock, timers and topics in memory. Virtual time, no I/O.

Requests go through the handlers of ``broker/api``, as from a connection; answers come in the order they were given.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from importlib import import_module
from typing import Any

from odradek.broker.dispatch.request import RequestContext
from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.groups.core import GroupCore
from odradek.broker.groups.modern.topics import GroupTopics
from odradek.broker.groups.records import CoordinatorRecord, decode_record
from odradek.broker.groups.streams.internal_topics import InternalTopics
from odradek.broker.metadata.image.features import GROUP_VERSION, SHARE_VERSION, STREAMS_VERSION
from odradek.broker.metadata.image.image import Endpoint, MetadataImage, PartitionImage, TopicImage
from odradek.broker.timers.timers import Timer
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import Buffer, iterate_headers, stamp
from odradek.protocol.records.record import iterate_records
from support.brokers.parts import CalledForTopics, ImageOnly, PartialBroker

from .memory_persister import MemoryPersister
from .memory_topic_creator import MemoryTopicCreator

START_MS = 1_000_000


class VirtualTimer:
    def __init__(self, timers: "VirtualTimers", deadline_ms: int, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback
        self.deadline_ms = deadline_ms
        self.turn = 0
        self._timers = timers

    def cancel(self) -> None:
        self.callback = None

    def postpone(self, deadline_ms: int) -> bool:
        if self.callback is None or deadline_ms < self.deadline_ms:
            return False
        self.deadline_ms = deadline_ms
        self._timers.put(self)
        return True


class VirtualTimers:
    """A clock that only tests move, and its timers. Timers of the same time fire in the order of setting."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms
        self._queue: list[tuple[int, int, VirtualTimer]] = []
        self._turns = 0

    def schedule(self, delay_ms: int, callback: Callable[[], None]) -> VirtualTimer:
        timer = VirtualTimer(self, self.now_ms + delay_ms, callback)
        self.put(timer)
        return timer

    def postpone(self, timer: Timer, delay_ms: int) -> bool:
        return timer.postpone(self.now_ms + delay_ms)

    def put(self, timer: VirtualTimer) -> None:
        """Sets a timer to its new deadline. Its earlier deadline is ignored."""
        self._turns += 1
        timer.turn = self._turns
        heappush(self._queue, (timer.deadline_ms, timer.turn, timer))

    def next_ms(self) -> int | None:
        while self._queue and (self._queue[0][2].callback is None or self._queue[0][1] != self._queue[0][2].turn):
            heappop(self._queue)
        return self._queue[0][0] if self._queue else None

    def advance(self, delay_ms: int) -> None:
        end_ms = self.now_ms + delay_ms
        while (due_ms := self.next_ms()) is not None and due_ms <= end_ms:
            self.fire_next()
        self.now_ms = end_ms

    def fire_next(self) -> None:
        """Fires the timer that is due first, alone: one turn of an event loop."""
        due_ms = self.next_ms()
        assert due_ms is not None, "no timer is set"
        self.now_ms = max(self.now_ms, due_ms)  # a delay below 0 is due at once
        timer = heappop(self._queue)[2]
        callback, timer.callback = timer.callback, None
        assert callback is not None
        callback()

    def clear(self) -> None:
        self._queue.clear()


class MemoryLog:
    """A partition's log. ``fail_next``: the error of the next append. ``held``: appends are durable after release."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.next_offset = 0
        self.fail_next: ErrorCode | None = None
        self.held = False
        self.on_append: Callable[[list[CoordinatorRecord]], None] | None = None
        self._waiting: list[Callable[[ErrorCode], None]] = []

    def append(self, batch: Buffer, now_ms: int) -> int:
        if self.fail_next is not None:
            error, self.fail_next = self.fail_next, None
            raise KafkaError(error)
        stamped = bytearray(batch)
        offset = self.next_offset
        stamp(stamped, 0, offset, 0)
        self.batches.append(bytes(stamped))
        [(_, header)] = iterate_headers(stamped)
        self.next_offset = header.next_offset
        if self.on_append is not None:
            self.on_append(list(decoded_records([bytes(batch)])))
        return offset

    def append_marker(self, batch: bytes, now_ms: int, transaction_version: int) -> int:
        return self.append(batch, now_ms)

    def stores_at_once(self) -> bool:
        return False

    def is_durable(self) -> bool:
        return not self.held

    def when_durable(self, callback: Callable[[ErrorCode], None]) -> None:
        if self.held:
            self._waiting.append(callback)
        else:
            callback(ErrorCode.NONE)

    def release(self, error: ErrorCode = ErrorCode.NONE) -> None:
        self.held = False
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback(error)

    def drop_waiting(self) -> None:
        """The broker has crashed: drops the appends that wait for an answer."""
        self.held = False
        self._waiting.clear()

    def compact(self) -> None:
        """Compacts as the log cleaner does: removes batches without the last record of any key."""
        keys = [[record.key for record in iterate_records(batch)] for batch in self.batches]
        last = {key: index for index, own in enumerate(keys) for key in own}
        self.batches = [self.batches[index] for index in sorted(set(last.values()))]

    @property
    def leader_epoch(self) -> int:
        return 0

    def read_batches(self) -> Iterator[bytes]:
        yield from self.batches

    def place_of(self, offset: int) -> str:
        return "memory"


def decoded_records(batches: list[bytes]) -> Iterator[CoordinatorRecord]:
    for batch in batches:
        for position, header in iterate_headers(batch):
            for record in iterate_records(batch, header, position):
                assert record.key is not None
                decoded = decode_record(record.key, record.value)
                assert decoded is not None
                yield decoded


def image_with_topics(topics: dict[str, tuple[bytes, int]]) -> MetadataImage:
    """``topics``: name -> topic id and number of partitions."""
    image = MetadataImage(features={GROUP_VERSION: 1, SHARE_VERSION: 1, STREAMS_VERSION: 1})
    for name, (topic_id, count) in topics.items():
        topic = topic_image(name, topic_id, count)
        image.topics_by_name[name] = topic
        image.topics_by_id[topic_id] = topic
    return image


def topic_image(name: str, topic_id: bytes, count: int) -> TopicImage:
    """A topic with ``count`` partitions on one broker."""
    partition = PartitionImage(
        replicas=(1,), directories=(bytes(16),), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0
    )
    return TopicImage(name, topic_id, dict.fromkeys(range(count), partition))


@dataclass
class Harness:
    """One coordinator with one partition, its clients, and the answers to them."""

    config: GroupCoordinatorConfig = field(
        default_factory=lambda: GroupCoordinatorConfig(offsets_topic_num_partitions=1)
    )
    topics: dict[str, tuple[bytes, int]] = field(default_factory=lambda: {"t": (b"t" * 16, 4), "u": (b"u" * 16, 2)})

    def __post_init__(self) -> None:
        self.timers = VirtualTimers()
        self.log = MemoryLog()
        self.answers: list[tuple[str, Any]] = []
        self.image = image_with_topics(self.topics)
        self.persister = MemoryPersister()
        self.creator = MemoryTopicCreator(self._put_missing_topic)
        self.group_configs: dict[str, dict[str, str]] = {}
        """The configs that groups have themselves, by group id."""
        self._topics = 0
        self.ends: dict[tuple[str, int], int | ErrorCode] = {}
        self._uuids = 0
        self._life = 0
        self.start()

    def start(self, in_turns: bool = False) -> None:
        """Starts a coordinator that loads the log. Waiting requests of the previous coordinator are never answered."""
        self._life += 1
        self.timers.clear()
        self.coordinator = GroupCoordinator(
            self.config,
            self.timers,
            lambda: self.timers.now_ms,
            self._new_uuid,
            lambda _: None,
            GroupTopics(lambda: self.image),
            lambda group_id: self.group_configs.get(group_id, {}),
        )
        self.broker = PartialBroker(
            group_coordinator=self.coordinator,
            metadata=ImageOnly(self.image),
            auto_topic_creation=CalledForTopics(),
            internal_topics=InternalTopics(self.creator, lambda: self.timers.now_ms),
            persister=self.persister,
            partition_ends=KnownEnds(self.ends),
        )
        self.coordinator.elect(0, self.log, in_turns)

    def _new_uuid(self) -> str:
        self._uuids += 1
        return str(self._uuids)

    def put_topic(self, name: str, count: int) -> None:
        """Creates a topic, or gives one that exists ``count`` partitions."""
        known = self.image.topics_by_name.get(name)
        self._topics += 1
        topic = topic_image(name, self._topics.to_bytes(16) if known is None else known.topic_id, count)
        self.image.topics_by_name[name] = self.image.topics_by_id[topic.topic_id] = topic
        self.image.last_offset += 1
        run_to_end(self.coordinator.topics_changed({name}, known is None))

    def _put_missing_topic(self, name: str, count: int) -> None:
        if name not in self.image.topics_by_name:
            self.put_topic(name, count)

    def delete_topic(self, name: str) -> None:
        """Deletes a topic, and the offsets of groups in it."""
        topic = self.image.topics_by_name.pop(name)
        del self.image.topics_by_id[topic.topic_id]
        self.image.last_offset += 1
        run_to_end(self.coordinator.topics_deleted({name}))
        run_to_end(self.coordinator.topics_changed({name}, False))

    @property
    def core(self) -> Any:
        return self.coordinator.shard_of("").core

    def send(
        self, client: str, api: ApiKey, version: int, request: Any, on_answer: Callable[[Any], None] | None = None
    ) -> None:
        """Sends a request. Its answer is passed to ``on_answer``, or added to ``answers``, now or later."""
        life = self._life
        answers = 0

        def reply(response: Any) -> None:
            nonlocal answers
            answers += 1
            assert answers == 1, f"{api.name} of {client} was answered twice"
            if life != self._life:
                return
            if on_answer is None:
                self.answers.append((client, response))
            else:
                on_answer(response)

        context = RequestContext(
            api_key=api,
            api_version=version,
            client_id=client,
            client_host="127.0.0.1",
            listener_name="PLAINTEXT",
            connection_id=0,
            now_ms=self.timers.now_ms,
        )
        handle = import_module(f"odradek.broker.api.{api.name.lower()}").handle
        for _ in handle(self.broker, request, context, Replying(reply)) or ():
            pass

    def ask(self, client: str, api: ApiKey, version: int, request: Any) -> Any:
        """Sends a request that is answered at once; returns the answer."""
        self.send(client, api, version, request)
        answer = self.answers.pop()
        assert answer[0] == client
        return answer[1]


class KnownEnds:
    """The ends of all partitions, 0 unless ``ends`` names another or an error."""

    def __init__(self, ends: dict[tuple[str, int], int | ErrorCode]) -> None:
        self.ends = ends

    def ask(self, topic: str, index: int, done: Callable[[int | ErrorCode], None]) -> None:
        done(self.ends.get((topic, index), 0))


class Replying:
    """A reply function without a connection, which runs further steps at once."""

    def __init__(self, reply: Callable[[Any], None]) -> None:
        self._reply = reply

    def __call__(self, response: Any) -> None:
        self._reply(response)

    def run_steps(self, request: object, steps: Iterable[object]) -> None:
        for _ in steps:
            pass


__all__ = ["START_MS", "Endpoint", "Harness", "MemoryLog", "VirtualTimers", "decoded_records", "image_with_topics"]


def hard_state(core: GroupCore) -> dict[str, Any]:
    """Returns the state that a restart restores, as values that can be compared."""
    groups = {
        group_id: (
            value.protocol_type,
            value.generation,
            value.protocol,
            value.leader,
            value.current_state_timestamp,
            tuple((member.member_id, member.subscription, member.assignment) for member in value.members),
        )
        for group_id, value in core.groups.stored.items()
    }
    consumer_groups = {group_id: group.snapshot() for group_id, group in core.groups.consumer.items()}
    return {
        "groups": groups,
        "consumer_groups": consumer_groups,
        "share_groups": {group_id: group.snapshot() for group_id, group in core.groups.share.items()},
        "streams_groups": {group_id: group.snapshot() for group_id, group in core.groups.streams.items()},
        "offsets": core.offsets.snapshot(),
    }
