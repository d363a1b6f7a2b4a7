"""A record there and back: through a topic that is made for it and deleted again.

Owns: that topic, whose records have the broker's time. Never does: writing to a topic of the user.
"""

import secrets
import time
from collections.abc import AsyncIterator

from odradek.protocol.errors import ErrorCode, KafkaError

from ...admin.topics import NewTopic, TopicAdmin
from ...consumer.consumer import Consumer
from ...errors import AdminError, ClientError
from ...producer.producer import Producer
from ...security.secured import ConnectionSecurity
from ...types import TopicPartition
from .diagnosis import Diagnosis, error, ok, skipped, warning

CLOCKS_DIFFER_MS = 5_000
VALUE = b"a record of odradek doctor"
NO_RIGHT = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
TOO_FEW = (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)


async def check_record(
    admin: TopicAdmin, bootstrap: str, secured: ConnectionSecurity | None, timeout_ms: float
) -> AsyncIterator[Diagnosis]:
    """Makes a topic, writes a record with acks=all, reads it, deletes the topic."""
    name = f"odradek-doctor-{secrets.token_hex(4)}"
    configs = {"message.timestamp.type": "LogAppendTime", "retention.ms": "3600000"}
    try:
        await admin.create_topics([NewTopic(name, num_partitions=1, configs=configs)])
    except AdminError as failure:
        yield judge_refusal(failure.errors[name])
        return
    try:
        yield await _there_and_back(name, bootstrap, secured, timeout_ms)
    finally:
        try:
            await admin.delete_topics([name])
        except (KafkaError, ClientError) as failure:
            text = f"the topic {name}, which was made for this, could not be deleted: {failure.args[-1]}"
            yield warning("record", text, f"Delete it: odradek topics --delete --topic {name}")


def judge_refusal(refusal: KafkaError) -> Diagnosis:
    """The diagnosis for a topic that could not be made."""
    if refusal.error_code in NO_RIGHT:
        return skipped("record", "this user may not create topics, so no record was written")
    step = "Compare default.replication.factor with the number of brokers, and look at the controller's log."
    return error("record", f"no topic can be created: {refusal.args[-1]} ({refusal.error_code.name})", step)


async def _there_and_back(
    name: str, bootstrap: str, secured: ConnectionSecurity | None, timeout_ms: float
) -> Diagnosis:
    """Writes a record and reads it. Returns the diagnosis for that and for the broker's clock."""
    partition = TopicPartition(name, 0)
    began = time.monotonic()
    try:
        async with Producer(
            bootstrap, linger_ms=0, request_timeout_ms=timeout_ms, delivery_timeout_ms=timeout_ms, security=secured
        ) as producer:
            written = await producer.send_and_wait(name, VALUE)
    except (KafkaError, ClientError) as failure:
        return judge_unwritten(failure)
    now_ms = int(time.time() * 1000)
    try:
        async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", security=secured) as consumer:
            consumer.assign([partition])
            records = (await consumer.poll(timeout_ms)).get(partition, [])
    except (KafkaError, ClientError) as failure:
        return error("record", f"a record was written, but not read: {failure.args[-1]}", "Check the right to read.")
    if [record.value for record in records] != [VALUE]:
        return error("record", "a record was written, but it did not come back", "Look at the leader's log.")
    return judge_clocks(written.timestamp, now_ms, (time.monotonic() - began) * 1000)


def judge_unwritten(failure: Exception) -> Diagnosis:
    """The diagnosis for a record that no broker acknowledged."""
    if isinstance(failure, KafkaError) and failure.error_code in NO_RIGHT:
        return skipped("record", "this user may create topics, but not write to them")
    text = str(failure.args[-1])
    if (isinstance(failure, KafkaError) and failure.error_code in TOO_FEW) or "NOT_ENOUGH_REPLICAS" in str(failure):
        step = "Start the brokers that are down, or lower min.insync.replicas."
        return error("record", "a record is refused with acks=all: fewer replicas than min.insync.replicas", step)
    return error("record", f"a record could not be written: {text}", "Look at the leader's log.")


def judge_clocks(broker_ms: int, now_ms: int, took_ms: float) -> Diagnosis:
    """The diagnosis for a record that came back, by the times at which the broker and this client saw it."""
    apart_ms = abs(broker_ms - now_ms)
    if apart_ms > CLOCKS_DIFFER_MS + took_ms:
        text = f"a record went there and back, but the broker's clock and this one differ by {apart_ms / 1000:.0f} s"
        return warning("record", text, "Set both clocks with NTP: logins by token, retention and lag depend on them.")
    return ok("record", f"a record went there and back in {took_ms:.0f} ms")
