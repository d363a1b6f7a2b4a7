"""A flood of connections does not use descriptors that files need: new connections wait, and open ones continue."""

import errno
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.broker.network.descriptor_limit import (
    LEAST_CONNECTIONS,
    SEGMENTS_MAX,
    TooFewDescriptorsError,
    open_descriptors,
    shares_of,
)
from odradek.protocol.codec.header import encode_request
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.structure import ZERO_UUID
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.files.descriptors import DescriptorCache
from odradek.storage.files.files import Files
from support.brokers.heavy_requests import Heavy, create
from support.brokers.our_broker import OurBroker
from support.eventually import eventually

LIMIT = 192
FLOOD = 2 * LIMIT
ROUNDS = 40
PAUSED = "others wait until one is closed"


def under(limit: int) -> tuple[str, ...]:
    """The prefix of a command that limits its open files to ``limit``."""
    return ("sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh")


def test_a_broker_says_that_it_has_room_for_few_connections(tmp_path: Path) -> None:
    with OurBroker(tmp_path, command_prefix=under(128)) as broker:
        check_that_a_new_client_is_served(broker)
        assert "(ulimit -n 128) leaves room for " in broker.log()
        assert broker.stop() == 0
        assert "Traceback" not in broker.log()


@pytest.mark.parametrize("limit", [12, 32, 64])
def test_a_broker_that_has_no_room_says_what_it_needs(tmp_path: Path, limit: int) -> None:
    broker = OurBroker(tmp_path, command_prefix=under(limit))
    assert broker.launch().wait() == 1
    assert "ulimit -n" in broker.log()
    assert "Traceback" not in broker.log()


@pytest.mark.parametrize("limit", [128, 192, 256, 1_024, 20_000, 1 << 30])
def test_the_shares_and_what_is_open_already_make_up_the_limit(limit: int) -> None:
    shares = shares_of(limit, in_use=20)
    assert shares.segments == min(SEGMENTS_MAX, (limit - 20) // 2)
    assert shares.connections >= LEAST_CONNECTIONS
    assert shares.in_use + shares.segments + shares.reserve + shares.connections == limit


@pytest.mark.parametrize("limit", [10, 64, 80, 98])
def test_a_limit_that_is_too_low_is_refused_with_the_least_one(limit: int) -> None:
    with pytest.raises(TooFewDescriptorsError, match=f"open {limit} files, and 20 .*ulimit -n.* 99 is the least"):
        shares_of(limit, in_use=20)


def flood(port: int) -> list[socket.socket]:
    """Makes more connections than there may be descriptors, without waiting for any to be accepted."""
    sockets = []
    for _ in range(FLOOD):
        one = socket.socket()
        one.setblocking(False)
        assert one.connect_ex(("127.0.0.1", port)) in (0, errno.EINPROGRESS)
        sockets.append(one)
    return sockets


@pytest.mark.ci
def test_produce_fetch_and_rolls_go_on_beside_a_flood_of_connections(tmp_path: Path) -> None:
    configs = {"log.segment.bytes": "1048576", "log.cleaner.backoff.ms": "100"}
    with OurBroker(tmp_path, configs, command_prefix=under(LIMIT)) as broker:
        servers = broker.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers})
        # Small segments: every few batches roll one, which opens files and writes a snapshot.
        topic = NewTopic("spools", 8, config={"segment.bytes": "1048576", "segment.ms": "1"})
        admin.create_topics([topic])["spools"].result()
        producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["spools"])
        producer.produce("spools", b"first")
        assert producer.flush(60) == 0
        read = 0
        while not read:
            read += len(consumer.consume(100, 1))
        sockets = flood(broker.port)
        eventually(PAUSED, lambda: PAUSED in broker.log())
        for number in range(ROUNDS):
            for partition in range(8):
                producer.produce("spools", f"{number}".encode(), partition=partition)
            assert producer.flush(60) == 0
        while read < 1 + 8 * ROUNDS:
            messages = consumer.consume(100, 1)
            assert all(message.error() is None for message in messages)
            read += len(messages)
        consumer.commit(asynchronous=False)
        lines = [line for line in broker.log().splitlines() if PAUSED in line]
        assert len(lines) < 50, "a line a second, not one for each connection"
        for one in sockets:
            one.close()
        check_that_a_new_client_is_served(broker)
        consumer.close()
        assert broker.stop() == 0
        assert " ERROR " not in broker.log()
        assert "Traceback" not in broker.log()


def check_that_a_new_client_is_served(broker: OurBroker) -> None:
    with socket.create_connection(("127.0.0.1", broker.port)) as one:
        one.sendall(encode_request(ApiVersionsRequest(), 0, 1, "late"))
        assert len(one.recv(4)) == 4


def test_one_that_waits_is_served_when_another_is_closed(tmp_path: Path) -> None:
    with OurBroker(tmp_path, {"max.connections": "2"}) as broker:
        address = ("127.0.0.1", broker.port)
        first, second, third = (socket.create_connection(address) for _ in range(3))
        for one in (first, second):
            one.sendall(encode_request(ApiVersionsRequest(), 0, 1, "early"))
            assert one.recv(1 << 16)
        eventually(PAUSED, lambda: PAUSED in broker.log())
        third.sendall(encode_request(ApiVersionsRequest(), 0, 1, "waits"))
        first.close()
        assert third.recv(1 << 16)
        for one in (second, third):
            one.close()


class CountedFiles(Files):
    """Files of a process that may have ``most`` open files."""

    def __init__(self, most: int = 1_000) -> None:
        super().__init__()
        self.open_files = 0
        self.most = most

    def open(self, path: Path, flags: int = os.O_RDONLY) -> int:
        if self.open_files == self.most:
            raise OSError(errno.EMFILE, "Too many open files")
        self.open_files += 1
        return super().open(path, flags)

    def close(self, fd: int) -> None:
        self.open_files -= 1
        super().close(fd)


def test_the_segments_give_descriptors_back_when_none_is_left(tmp_path: Path) -> None:
    files = CountedFiles(most=3)
    cache = DescriptorCache(files, max_open=100)
    paths = [tmp_path / str(number) for number in range(10)]
    for path in paths:
        path.write_bytes(path.name.encode())
    for path in paths:
        assert cache.get(path, 0).read(10, 0) == path.name.encode()
    assert len(cache) <= 3
    for path in paths:
        cache.forget(path)
    assert files.open_files == 0


def test_held_files_count_and_are_not_closed_for_others(tmp_path: Path) -> None:
    """A holder used to keep files open that the cache had dropped and no longer counted: in a sync, 16 more than its
    share.
    """
    files = CountedFiles()
    cache = DescriptorCache(files, max_open=8)
    paths = [tmp_path / str(number) for number in range(30)]
    for path in paths:
        path.write_bytes(path.name.encode())
    held = []
    for path in paths[:20]:
        descriptor = cache.get(path, 0)
        if cache.may_hold:
            held.append(descriptor.hold())
    assert len(held) == 4, "half of them"
    for path in paths:
        assert cache.get(path, 0).read(10, 0) == path.name.encode()
        assert len(cache) == files.open_files <= 8
    assert [descriptor.read(10, 0) for descriptor in held] == [b"0", b"1", b"2", b"3"]
    cache.forget(paths[0])
    assert held[0].read(10, 0) == b"0", "held, though its file is removed"
    for descriptor in held:
        descriptor.release()
    assert held[0].fd == -1
    assert len(cache) == files.open_files <= 8
    for path in paths:
        cache.forget(path)
    assert files.open_files == len(cache) == 0


def test_more_held_files_than_the_share_leave_one_to_use(tmp_path: Path) -> None:
    files = CountedFiles()
    cache = DescriptorCache(files, max_open=2)
    paths = [tmp_path / str(number) for number in range(6)]
    for path in paths:
        path.write_bytes(path.name.encode())
    held = [cache.get(path, 0).hold() for path in paths[:3]]
    for path in paths:
        assert cache.get(path, 0).read(10, 0) == path.name.encode()
        assert files.open_files <= 4
    for descriptor in held:
        descriptor.release()
    assert cache.get(paths[5], 0).read(10, 0) == b"5"
    assert cache.get(paths[4], 0).read(10, 0) == b"4"
    assert files.open_files <= 2


@pytest.mark.ci
def test_a_killed_broker_with_more_segments_than_descriptors_starts_again(tmp_path: Path) -> None:
    """Every segment of these logs is unclean. Several threads recover them, and each must get a descriptor."""
    partitions, segments = 4, 150
    with OurBroker(tmp_path) as broker:
        heavy = Heavy(broker.port)
        heavy.ask(create(["deep"], partitions, segment_ms="1"), 5)
        for number in range(segments):
            batch = encode_batch(
                [Record(0, clock_ms() + 10 * number, None, b"one", [])]
            )  # its timestamp rolls a segment
            data = [ProduceRequest.PartitionProduceData(index, batch) for index in range(partitions)]
            heavy.ask(ProduceRequest(None, -1, 60_000, [ProduceRequest.TopicProduceData("deep", ZERO_UUID, data)]), 8)
        broker.kill()
    assert len(list(broker.log_dir.glob("deep-*/*.log"))) >= partitions * segments - partitions
    configs = {"num.recovery.threads.per.data.dir": str(partitions)}
    with OurBroker(tmp_path, configs, command_prefix=under(LIMIT)) as broker:
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"})
        ends = [consumer.get_watermark_offsets(TopicPartition("deep", index), 60)[1] for index in range(partitions)]
        consumer.close()
        assert ends == [segments] * partitions
        assert broker.stop() == 0


def test_each_thread_has_its_share_of_the_open_files(tmp_path: Path) -> None:
    cache = DescriptorCache(Files(), max_open=8)
    paths = [tmp_path / str(number) for number in range(40)]
    for path in paths:
        path.write_bytes(b"")
    most_open: list[int] = []

    def open_all(mine: list[Path]) -> None:
        opened = []
        for path in mine:
            opened.append(cache.get(path, 0))
            most_open.append(sum(one.fd != -1 for one in opened))
        for path in mine:
            cache.forget(path)
        assert all(one.fd == -1 for one in opened)

    with cache.divided(4), ThreadPoolExecutor(4) as pool:
        list(pool.map(open_all, [paths[first::4] for first in range(4)]))
    assert max(most_open) == 2


def test_descriptors_are_counted_where_the_system_does_not_list_them(tmp_path: Path) -> None:
    assert open_descriptors(str(tmp_path / "missing")) == open_descriptors()
    with (tmp_path / "file").open("w"):
        assert open_descriptors(str(tmp_path / "missing")) == open_descriptors()
