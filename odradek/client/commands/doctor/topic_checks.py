"""A topic that the user names: whether it exists, takes records, keeps them, and lets consumers read all of them.

Owns: the checks of one topic. Never does: writing to it. Where a broker is too old to answer a question, that check is
left out.
"""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches

from odradek.protocol.errors import ErrorCode, KafkaError

from ...admin.configs import ConfigAdmin
from ...admin.records import RecordAdmin
from ...admin.topics import TopicAdmin
from ...admin.transactions import TransactionAdmin
from ...cluster.metadata import TopicMetadata
from ...errors import AdminError, UnsupportedVersionError
from ...types import TopicPartition
from .diagnosis import Diagnosis, error, ok, skipped, warning

END, MAX_TIMESTAMP, FROM_1970 = -1, -3, 0
"""Times that ListOffsets is asked for: the end of the log, its latest record time, the first record after 1970."""
SECONDS_ARE_BELOW = 100_000_000_000
"""A time in ms below this one is before 3 March 1973; a time of today in seconds looks like that."""
FUTURE_MS = 24 * 3_600_000
HELD_MS = 60_000
"""Kafka's default of transaction.timeout.ms in producers; a transaction that is open for longer is worth a line."""
BATCH_OVERHEAD = 81
"""Bytes of a batch with one record that are not key, value or headers, at most (``RecordBatch``, KIP-98)."""


class TopicChecksAdmin(TopicAdmin, ConfigAdmin, RecordAdmin, TransactionAdmin):
    """The requests of these checks."""


async def check_topic(
    admin: TopicChecksAdmin, name: str, record_bytes: int | None, now_ms: int
) -> AsyncIterator[Diagnosis]:
    """All checks of a topic. ``record_bytes``: the size of the records that the user wants to write."""
    try:
        topic = (await admin.describe_topics([name]))[name]
    except AdminError as failure:
        code = failure.errors[name].error_code
        names = await admin.list_topics() if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else []
        yield judge_absence(name, code, names)
        return
    configs: dict[str, str] = {}
    try:
        entries = (await admin.describe_configs("topic", [name]))[name]
        configs = {entry.name: entry.value for entry in entries if entry.value is not None}
    except KafkaError:
        yield skipped("topic", f"this user may not see the configs of {name}")
    found = list(judge_topic(topic, configs, record_bytes))
    partitions = [TopicPartition(name, number) for number in topic.available]
    found += [one async for one in _check_times(admin, partitions, now_ms)]
    found += [one async for one in _check_transactions(admin, partitions, now_ms)]
    for diagnosis in found:
        yield diagnosis
    if not found:
        yield ok("topic", f"{name} has {len(topic.partitions)} partitions, takes records and lets all of them be read")


def judge_absence(name: str, code: ErrorCode, names: Collection[str]) -> Diagnosis:
    """The diagnosis for a topic that can't be described; ``names`` are those that exist."""
    if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        step = f"Allow it: odradek acls --add --topic {name} --operation Describe --allow-principal User:NAME"
        return error("topic", f"this user may not see the topic {name}, if it exists", step)
    if code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return error("topic", f"{name}: {code.message}", "Use a valid name.")
    alike = get_close_matches(name, names, 1)
    step = f"Did you mean {alike[0]}?" if alike else f"Create it: odradek topics --create --topic {name}"
    return error("topic", f"no topic is called {name}", step)


def judge_topic(topic: TopicMetadata, configs: Mapping[str, str], record_bytes: int | None) -> Iterator[Diagnosis]:
    """The diagnoses for a topic's replicas, and for the size of the records that it takes."""
    partitions = topic.partitions.values()
    least = int(configs.get("min.insync.replicas", 1))
    lost = [partition.partition for partition in partitions if partition.leader < 0]
    # Of fewer replicas than min.insync.replicas, all have to be in sync (``Partition.effectiveMinIsr``).
    few = [one for one in partitions if one.leader >= 0 and len(one.isr) < min(least, len(one.replicas))]
    if lost:
        text = f"partition {_listed(lost)} of {topic.name} has no leader: it takes and gives no records"
        yield error("topic", text, "Start the brokers that have its replicas.")
    if few:
        numbers = _listed([one.partition for one in few])
        missing = _listed({node_id for one in few for node_id in {*one.replicas}.difference(one.isr)})
        text = f"partition {numbers} of {topic.name} refuses acks=all: fewer in sync than min.insync.replicas, {least}"
        yield error("topic", text, f"Start the brokers of the other replicas, {missing}, or look why they are behind.")
    limit = int(configs.get("max.message.bytes", 0))
    if limit and record_bytes is not None and record_bytes + BATCH_OVERHEAD > limit:
        text = f"a record of {record_bytes:,} bytes is too large: {topic.name} takes batches of {limit:,} bytes"
        needed = record_bytes + BATCH_OVERHEAD
        step = f"Raise max.message.bytes of the topic and max.request.size of the producer to {needed} at least."
        yield error("topic", text, step)


def _listed(numbers: Collection[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


async def _check_times(
    admin: TopicChecksAdmin, partitions: Collection[TopicPartition], now_ms: int
) -> AsyncIterator[Diagnosis]:
    """Whether the times of the first and of the latest records can be meant."""
    try:
        first = await admin.list_offsets(dict.fromkeys(partitions, FROM_1970))
        latest = await admin.list_offsets(dict.fromkeys(partitions, MAX_TIMESTAMP))
    except UnsupportedVersionError:
        return
    for partition in partitions:
        diagnosis = judge_times(partition, first[partition].timestamp, latest[partition].timestamp, now_ms)
        if diagnosis is not None:
            yield diagnosis


def judge_times(partition: TopicPartition, first_ms: int, latest_ms: int, now_ms: int) -> Diagnosis | None:
    """A diagnosis if the times of a partition's records, in ms, are in the future or look like seconds; -1: none."""
    step = "Set the producer's timestamps in ms since 1970, or message.timestamp.type=LogAppendTime of the topic."
    if 0 <= first_ms < SECONDS_ARE_BELOW:
        text = f"the first record of {partition} is of {_day(first_ms)}: its timestamp looks like seconds, not ms"
        return warning("topic", f"{text}. retention.ms deletes such records at once", step)
    if latest_ms > now_ms + FUTURE_MS:
        text = f"{partition} has a record of {_day(latest_ms)}, in the future: its segment is kept until then"
        return warning("topic", text, step)
    return None


def _day(time_ms: int) -> str:
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return f"{time_ms} ms after 1970"  # after the year 9999


async def _check_transactions(
    admin: TopicChecksAdmin, partitions: Collection[TopicPartition], now_ms: int
) -> AsyncIterator[Diagnosis]:
    """Whether an old transaction keeps consumers with isolation.level=read_committed from the end of the log."""
    stable = await admin.list_offsets(dict.fromkeys(partitions, END), isolation_level="read_committed")
    ends = await admin.list_offsets(dict.fromkeys(partitions, END))
    held = [partition for partition in partitions if stable[partition].offset < ends[partition].offset]
    if not held:
        return
    try:
        producers = await admin.describe_producers(held)
    except (KafkaError, UnsupportedVersionError):
        return
    for partition in held:
        stands_at, end = stable[partition].offset, ends[partition].offset
        for state in producers[partition]:
            silent_ms = now_ms - state.last_timestamp_ms
            if state.transaction_start_offset == stands_at and silent_ms > HELD_MS:
                holder = await _transactional_id(admin, state.producer_id)
                text = f"read_committed consumers of {partition} stand at {stands_at}, {end - stands_at} before the end"
                step = (
                    f"End that producer's transaction, or: odradek transactions abort --topic {partition.topic} "
                    f"--partition {partition.partition} --start-offset {stands_at}"
                )
                yield warning("topic", f"{text}: {holder} has written nothing for {silent_ms // 1000} s", step)


async def _transactional_id(admin: TopicChecksAdmin, producer_id: int) -> str:
    """The producer, with its transactional id if this user may see it."""
    try:
        found = await admin.list_transactions(producer_ids=[producer_id])
    except (KafkaError, UnsupportedVersionError):
        found = []
    named = f" ({found[0].transactional_id})" if found else ""
    return f"the open transaction of producer {producer_id}{named}"
