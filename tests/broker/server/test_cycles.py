"""Objects that end while the broker runs are not part of a reference cycle; ``memory.py`` has the reason.

A broker in this process, with the garbage collector off, creates and ends topics, groups, transactions and connections.
Afterwards the collector reports the objects that only it can free.
"""

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FunctionType

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from odradek.protocol.codec.header import encode_request
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.messages.groups import DescribeGroupsRequest, OffsetCommitRequest
from odradek.protocol.messages.metadata import ApiVersionsRequest, MetadataRequest
from odradek.protocol.messages.structure import ZERO_UUID
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.log.log import Log
from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.heavy_requests import ROWS, Heavy, Scale, create, delete, produce
from support.eventually import eventually

MESSAGES = ("odradek.protocol.messages.produce", "odradek.protocol.messages.topics")
ROOMS = ("odradek.broker.", "odradek.storage.", *MESSAGES)
WITH_RECORDS = (
    "Produce of 1,000,000 tiny records, 10 h ahead",
    "the same without keys to a compacted topic",
    "Fetch version 2 of 1,000,000 tiny records",
    "ListOffsets by time in 1,000,000 tiny records",
    "a 90 MB batch into a topic of compression.type=gzip",
)


def batch(size: int) -> bytes:
    return encode_batch([Record(0, clock_ms(), b"key", bytes(size), [])])


def topics_come_and_go(heavy: Heavy) -> None:
    names = [f"topic-{number}" for number in range(5)]
    heavy.ask(create(names, 4, file_delete_delay_ms="0"), 5)
    for name in names:
        heavy.ask(produce(name, batch(10)), 8)
        heavy.ask(produce(name, batch(100_000)), 8)  # a thread writes it
    heavy.ask(create(["compacted"], 1, cleanup_policy="compact"), 5)
    heavy.ask(produce("compacted", batch(100_000)), 8)
    heavy.ask(MetadataRequest(None), 9)
    heavy.ask(delete([*names, "compacted"]), 6)


def has_record(consumer: Consumer) -> bool:
    """Whether the next message is a record. Temporary errors are messages, too."""
    message = consumer.poll(1)
    return message is not None and message.error() is None


def groups_come_and_go(port: int) -> None:
    heavy = Heavy(port)
    heavy.ask(create(["read"], 300), 5)
    heavy.ask(produce("read", batch(10)), 8)
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"})
    for protocol in ("classic", "consumer"):
        settings = {"bootstrap.servers": f"127.0.0.1:{port}", "group.id": protocol, "auto.offset.reset": "earliest"}
        consumer = Consumer({**settings, "group.protocol": protocol})
        consumer.subscribe(["read"])
        eventually("a record", partial(has_record, consumer))
        consumer.commit(asynchronous=False)
        consumer.close()
    for deleted in admin.delete_consumer_groups(["classic", "consumer"]).values():
        deleted.result()
    partition = OffsetCommitRequest.OffsetCommitRequestPartition
    committed = [partition(partition_index=index, committed_offset=0) for index in range(300)]
    topics = [OffsetCommitRequest.OffsetCommitRequestTopic("read", ZERO_UUID, committed)]
    heavy.ask(OffsetCommitRequest("many", -1, "", None, -1, topics), 7)
    heavy.ask(DescribeGroupsRequest([f"{number}" for number in range(2_000)]), 5)
    heavy.ask(delete(["read"]), 6)
    heavy.close()


def transactions_come_and_go(port: int) -> None:
    producer = Producer({"bootstrap.servers": f"127.0.0.1:{port}", "transactional.id": "pays"})
    producer.init_transactions()
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.produce("paid", b"1")
        producer.flush()
        end()
    Heavy(port).ask(delete(["paid"]), 6)


def refused_requests(heavy: Heavy) -> None:
    """Sends requests that are refused with an error."""
    heavy.ask(create(["over"], 10_001), 5)
    heavy.ask(create(["refused", "refused", "a/b"], 2), 5)
    heavy.ask(create(["small"], 1, max_message_bytes="100"), 5)
    for size in (1_000, 100_000):
        heavy.ask(produce("small", batch(size)), 8)
    heavy.ask(produce("small", batch(10)[:-1] + b"?"), 8)
    heavy.ask(produce("small", b"garbage"), 8)
    heavy.ask(produce("not there", batch(10)), 8)
    heavy.ask(delete(["small", "not there"]), 6)


def everything(port: int) -> None:
    """Creates and ends one of each kind."""
    heavy = Heavy(port)
    topics_come_and_go(heavy)
    groups_come_and_go(port)
    transactions_come_and_go(port)
    for row in WITH_RECORDS:
        ROWS[row](port, Scale(0.01))()
        heavy.ask(delete(["stored", "gzipped", "tiny", "keyless"]), 6)
    refused_requests(heavy)
    for _ in range(3):
        stranger = Heavy(port)
        stranger.ask(ApiVersionsRequest(), 0)
        stranger.close()
    stranger.send(b"\x00\x00\x00\x08garbage!")
    half = encode_request(MetadataRequest(None), 9, 7, "gone")[:-1]
    stranger.send(len(half).to_bytes(4) + half[4:] + b"\xff" * 4)
    heavy.close()


@contextmanager
def uncollected() -> Iterator[list[object]]:
    """The objects that only the collector would free, after the block."""
    found: list[object] = []
    gc.collect()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found += gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def room_of(thing: object) -> str:
    """The module of a function, or of an object's class."""
    return str(thing.__module__ if isinstance(thing, FunctionType) else type(thing).__module__)


@pytest.mark.ci
def test_what_ends_is_freed_without_the_collector(tmp_path: Path) -> None:
    with InProcessBroker(tmp_path, {"auto.create.topics.enable": True}) as broker:
        everything(broker.port)  # the first of each kind fills caches and imports modules
        with uncollected() as found:
            everything(broker.port)
        cycles = Counter(type(thing).__qualname__ for thing in found if room_of(thing).startswith(ROOMS))
        found.clear()
        assert not cycles
        deleted = [thing for thing in gc.get_objects() if isinstance(thing, Log) and str(tmp_path) in str(thing)]
        assert not [log for log in deleted if not log.health.is_open]
