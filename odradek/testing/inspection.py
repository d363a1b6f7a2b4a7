"""Helpers for tests that use a broker or a cluster: create topics, write and read records, inspect groups, wait.

Owns: these helpers. Never does: anything that an ordinary client could not do. Invariants: requests of the helpers meet
no faults; a helper that waits returns as soon as its condition is true, and raises after ``timeout_s`` seconds with the
last state that it saw. The helpers may be called from any thread. Called in an event loop, they block it.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError

from .broker.config_values import ConfigValue, config_text
from .faults.selection import HELPERS_CLIENT_ID

with lazy_imports:
    from odradek.client import admin as client_admin
    from odradek.client import consumer as client_consumer
    from odradek.client import errors, types
    from odradek.client import producer as client_producer
    from odradek.client.admin import topics as admin_topics

if TYPE_CHECKING:
    from odradek.client.admin import Admin
    from odradek.client.admin.group_descriptions import GroupDescription
    from odradek.client.cluster.metadata import TopicMetadata
    from odradek.client.types import ConsumerRecord, RecordMetadata, TopicPartition

Value = TypeVar("Value")
Content = str | bytes | None
"""A key or a value; text is UTF-8."""

TIMEOUT_S = 60.0
LOOK_AGAIN_S = 0.01
LARGEST_REQUEST = (1 << 31) - 1
"""The broker decides which records are too large, not the client of these helpers."""
QUIET_MS = 100
"""The timeout of one poll; it is repeated until the end of the partitions or ``timeout_s``."""
STABLE = ("Stable", "STABLE")


class Inspection(ABC):
    """The test helpers of a broker or a cluster."""

    @property
    @abstractmethod
    def bootstrap_servers(self) -> str:
        """``host:port``, for the setting ``bootstrap.servers`` of clients."""

    def _client_settings(self) -> dict[str, Any]:
        """Further arguments of the clients of these helpers, for a broker with security."""
        return {}

    # --- topics

    def create_topic(
        self, name: str, partitions: int = 1, *, configs: Mapping[str, ConfigValue] | None = None
    ) -> "TopicMetadata":
        """Creates a topic, and returns its metadata. Raises AdminError: TOPIC_ALREADY_EXISTS, INVALID_CONFIG …"""

        async def create(admin: "Admin") -> "TopicMetadata":
            texts = {key: config_text(key, value) for key, value in (configs or {}).items()}
            await admin.create_topics([admin_topics.NewTopic(name, partitions, configs=texts)])

            async def look() -> "TopicMetadata | None":
                try:
                    return (await admin.describe_topics([name]))[name]
                except errors.AdminError:
                    return None  # a broker of a cluster may not know the topic yet

            created = await _wait(look, lambda found: found is not None, lambda _: f"{name} is unknown", TIMEOUT_S)
            assert created is not None
            return created

        return self._admin(create)

    def delete_topic(self, name: str) -> None:
        """Deletes a topic. Raises AdminError: UNKNOWN_TOPIC_OR_PARTITION."""
        self._admin(lambda admin: admin.delete_topics([name]))

    def topics(self) -> list[str]:
        """The names of all topics except Kafka's internal ones."""

        async def names(admin: "Admin") -> list[str]:
            return [name for name in await admin.list_topics() if not name.startswith("__")]

        return self._admin(names)

    def topic(self, name: str) -> "TopicMetadata":
        """A topic's id, and its partitions with leaders and replicas. Raises AdminError if it does not exist."""

        async def describe(admin: "Admin") -> "TopicMetadata":
            return (await admin.describe_topics([name]))[name]

        return self._admin(describe)

    # --- records

    def produce(
        self,
        topic: str,
        *values: Content,
        key: Content = None,
        partition: int | None = None,
        headers: Mapping[str, Content] | Iterable[tuple[str, Content]] | None = None,
        timestamp_ms: int | None = None,
    ) -> "list[RecordMetadata]":
        """Writes one record for each value, with acks=all; returns where each was stored. Raises KafkaError.

        ``headers`` are a dict, or pairs as a record has them: a name may be repeated.
        """
        pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
        header_list = [(name, _bytes(value)) for name, value in pairs]

        async def produce() -> "list[RecordMetadata]":
            settings = self._client_settings()
            async with client_producer.Producer(
                self.bootstrap_servers,
                client_id=HELPERS_CLIENT_ID,
                linger_ms=0,
                max_request_size=LARGEST_REQUEST,
                buffer_memory=LARGEST_REQUEST,
                **settings,
            ) as producer:
                sent = [
                    await producer.send(
                        topic,
                        _bytes(value),
                        _bytes(key),
                        partition=partition,
                        timestamp_ms=timestamp_ms,
                        headers=header_list,
                    )
                    for value in values
                ]
                return [await future for future in sent]

        return run(produce())

    def records(
        self, topic: str, *, partition: int | None = None, isolation_level: str = "read_uncommitted"
    ) -> "list[ConsumerRecord]":
        """All records that a topic holds now, by partition and offset.

        Raises KafkaError for an unknown topic or partition.
        """
        return run(self._read(topic, partition, isolation_level, None, TIMEOUT_S))

    def consume(
        self,
        topic: str,
        count: int = 1,
        *,
        partition: int | None = None,
        isolation_level: str = "read_uncommitted",
        timeout_s: float = TIMEOUT_S,
    ) -> "list[ConsumerRecord]":
        """Reads a topic from its start until there are ``count`` records, and returns these, in the order of arrival.

        Raises TimeoutError after ``timeout_s`` seconds, with the records that have arrived.
        """
        return run(self._read(topic, partition, isolation_level, count, timeout_s))

    async def _read(
        self, topic: str, partition: int | None, isolation_level: str, count: int | None, timeout_s: float
    ) -> "list[ConsumerRecord]":
        found: list[ConsumerRecord] = []
        async with client_consumer.Consumer(
            bootstrap_servers=self.bootstrap_servers,
            client_id=HELPERS_CLIENT_ID,
            auto_offset_reset="earliest",
            isolation_level=isolation_level,
            **self._client_settings(),
            allow_auto_create_topics=False,
        ) as consumer:
            numbers = await consumer.partitions_for_topic(topic)
            if not numbers:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"the topic {topic!r} does not exist")
            if partition is not None and partition not in numbers:
                known = f"the topic has partitions 0 to {max(numbers)}"
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"partition {partition!r} of {topic!r}: {known}")
            wanted = [types.TopicPartition(topic, number) for number in numbers if partition in (None, number)]
            consumer.assign(wanted)
            ends = await consumer.end_offsets(wanted)
            deadline = asyncio.get_running_loop().time() + timeout_s
            while not await _is_read(consumer, ends) if count is None else len(found) < count:
                for records in (await consumer.poll(QUIET_MS, max_records=count and count - len(found))).values():
                    found += records
                if asyncio.get_running_loop().time() > deadline:
                    what = f"{len(found)} of {count} records" if count is not None else f"{len(found)} records, no end"
                    raise TimeoutError(f"{topic} has {what} after {timeout_s:g} s{_shown(found)}")
        return sorted(found, key=lambda record: (record.partition, record.offset)) if count is None else found

    # --- groups

    def committed(self, group: str) -> "dict[TopicPartition, int]":
        """The offsets that a group has committed; empty if the group does not exist."""

        async def offsets(admin: "Admin") -> "dict[TopicPartition, int]":
            return {key: value.offset for key, value in (await admin.list_group_offsets(group)).items()}

        return self._admin(offsets)

    def lag(self, group: str, topics: Iterable[str] = ()) -> "dict[TopicPartition, int]":
        """The lag of a group: for each partition, the number of offsets from the committed one to the end.

        In a share group: the number of records that are neither accepted nor rejected nor given up.

        Without ``topics``, of the partitions for which the group has committed an offset: empty for a group that has
        committed nothing or does not exist. With ``topics``, of all their
        partitions: a partition without a committed offset counts from its start.
        """
        return self._admin(lambda admin: _lag(admin, group, list(topics)))

    def wait_until_consumed(self, group: str, *topics: str, timeout_s: float = TIMEOUT_S) -> None:
        """Waits until a group has committed the end offset of each partition of the topics, or a share group has
        finished all their records.

        Without ``topics``, of the partitions for which it has committed an offset. Raises TimeoutError with the lag of
        each partition.
        """

        async def wait(admin: "Admin") -> None:
            def is_consumed(lag: "dict[TopicPartition, int]") -> bool:
                return bool(lag) and not any(lag.values())

            def say(lag: "dict[TopicPartition, int]") -> str:
                behind = ", ".join(f"{partition}: {records}" for partition, records in lag.items() if records)
                return f"group {group} lags behind by {behind}" if behind else f"group {group} has committed nothing"

            await _wait(lambda: _lag(admin, group, list(topics)), is_consumed, say, timeout_s)

        self._admin(wait)

    def wait_group_stable(
        self, group: str, members: int | None = None, *, timeout_s: float = TIMEOUT_S
    ) -> "GroupDescription":
        """Waits until a group is stable with ``members`` members (None: at least one); returns the group.

        Raises TimeoutError with its state and its members.
        """

        async def wait(admin: "Admin") -> "GroupDescription":
            async def look() -> "GroupDescription | None":
                try:
                    return await _described(admin, group)
                except errors.AdminError:
                    return None  # no member has joined yet

            def is_stable(found: "GroupDescription | None") -> bool:
                if found is None or found.state not in STABLE:
                    return False
                return bool(found.members) if members is None else len(found.members) == members

            def say(found: "GroupDescription | None") -> str:
                if found is None:
                    return f"the group {group} does not exist"
                names = ", ".join(member.client_id for member in found.members) or "none"
                return f"group {group} is {found.state}, with members: {names}"

            stable = await _wait(look, is_stable, say, timeout_s)
            assert stable is not None
            return stable

        return self._admin(wait)

    def describe_group(self, group: str) -> "GroupDescription":
        """A group with its state and its members. Raises AdminError: GROUP_ID_NOT_FOUND."""

        async def describe(admin: "Admin") -> "GroupDescription":
            return await _described(admin, group)

        return self._admin(describe)

    def wait_until(self, condition: Callable[[], bool], timeout_s: float = TIMEOUT_S) -> None:
        """Calls ``condition`` every 10 ms until it returns True; it may use the other helpers. Raises TimeoutError."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"the condition is not true after {timeout_s:g} s")
            time.sleep(LOOK_AGAIN_S)

    def _admin(self, ask: "Callable[[Admin], Coroutine[Any, Any, Value]]") -> Value:
        async def asked() -> Value:
            async with client_admin.Admin(
                self.bootstrap_servers, client_id=HELPERS_CLIENT_ID, **self._client_settings()
            ) as admin:
                return await ask(admin)

        return run(asked())


def run(coroutine: Coroutine[Any, Any, Value]) -> Value:
    """Runs a coroutine to its end in a new thread, since the caller's thread may already run an event loop."""
    with ThreadPoolExecutor(1, "odradek-testing") as thread:
        return thread.submit(asyncio.run, coroutine).result()


async def _lag(admin: "Admin", group: str, topics: list[str]) -> "dict[TopicPartition, int]":
    committed = {key: value.offset for key, value in (await admin.list_group_offsets(group)).items()}
    whole = (await admin.describe_topics(topics)) if topics else {}
    asked = {types.TopicPartition(name, number) for name, topic in whole.items() for number in topic.partitions}
    of_share_group = {} if committed else await _share_lag(admin, group)
    if of_share_group and not topics:
        return dict(sorted(of_share_group.items()))
    asked |= {key for key in committed if not topics or key.topic in topics}
    if not asked:
        return {}
    ends = await admin.list_offsets(dict.fromkeys(asked, -1), isolation_level="read_committed")
    starts = await admin.list_offsets(dict.fromkeys(asked, -2))
    return {
        key: of_share_group[key]
        if key in of_share_group
        else max(0, ends[key].offset - committed.get(key, starts[key].offset))
        for key in sorted(asked)
    }


async def _share_lag(admin: "Admin", group: str) -> "dict[TopicPartition, int]":
    """The lag of a share group's partitions that have a start; empty for other groups."""
    try:
        offsets = (await admin.list_share_group_offsets([group]))[group]
    except errors.AdminError:
        return {}
    return {key: at.lag for key, at in offsets.items() if at is not None and at.lag is not None}


async def _described(admin: "Admin", group: str) -> "GroupDescription":
    """A group of any type. Raises AdminError: GROUP_ID_NOT_FOUND."""
    try:
        return (await admin.describe_groups([group]))[group]
    except errors.AdminError as error:
        try:
            return (await admin.describe_share_groups([group]))[group]
        except errors.AdminError:
            pass
        try:
            return (await admin.describe_streams_groups([group]))[group].as_group()
        except errors.AdminError:
            raise error from None


async def _wait(
    look: Callable[[], Coroutine[Any, Any, Value]],
    is_true: Callable[[Value], bool],
    say: Callable[[Value], str],
    timeout_s: float,
) -> Value:
    """Calls ``look`` until ``is_true`` accepts its result, which is returned.

    Raises TimeoutError; ``say`` makes its message from the last result.
    """
    deadline = asyncio.get_running_loop().time() + timeout_s
    while True:
        seen = await look()
        if is_true(seen):
            return seen
        if asyncio.get_running_loop().time() > deadline:
            raise TimeoutError(f"{say(seen)}, after {timeout_s:g} s")
        await asyncio.sleep(LOOK_AGAIN_S)


async def _is_read(consumer: Any, ends: "dict[TopicPartition, int]") -> bool:
    return all([await consumer.position(partition) >= end for partition, end in ends.items()])


def _bytes(content: Content) -> bytes | None:
    """The bytes of a key, value or header. Raises TypeError for other types."""
    if content is None or isinstance(content, bytes):
        return content
    if isinstance(content, str):
        return content.encode()
    raise TypeError(
        f"keys, values and headers are str, bytes or None, not {type(content).__name__}: write"
        " json.dumps(value) for JSON, and produce(topic, *values) for several records"
    )


def _shown(records: "list[ConsumerRecord]") -> str:
    """The first values of records, for an error message."""
    return "" if not records else ": " + ", ".join(repr(record.value)[:40] for record in records[:10])
