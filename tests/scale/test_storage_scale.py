"""Storage with large sizes: a partition of 20 GB, and 2,000 partitions. Prints measurements; times are not checked.

``make test-long-storage-scale`` needs 25 GB of disk; ``SCALE_BYTES`` and ``SCALE_PARTITIONS`` make it
smaller.
"""

import os
import random
import re
import socket
import statistics
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.messages import message_class
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.structure import ZERO_UUID, Message
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record, decode_records
from support.brokers.asking import Asking
from support.brokers.our_broker import OurBroker, resident_bytes
from support.brokers.processor_time import cpu_seconds

pytestmark = pytest.mark.long

BYTES = int(os.environ.get("SCALE_BYTES", str(20 * 10**9)))
PARTITIONS = int(os.environ.get("SCALE_PARTITIONS", "2000"))
RECORD_BYTES = 1_000_000
IN_FLIGHT = 4
READS = 2_000
STARTS = 5
MB = 10**6
CONFIGS = {"log.retention.ms": "-1", "log.flush.offset.checkpoint.interval.ms": "5000"}


class Line:
    """One connection, with several requests in flight."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=120)

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, frame: bytes) -> None:
        self._socket.sendall(frame)

    def receive(self, request: Message, version: int) -> Any:
        size = struct.unpack(">i", self._exactly(4))[0]
        response_class = message_class(request.NAME.replace("Request", "Response"))
        start = 4 + response_header_version(request.API_KEY, version)
        return decode(response_class, version, self._exactly(size), start)[0]

    def _exactly(self, size: int) -> bytearray:
        data = bytearray(size)
        view, at = memoryview(data), 0
        while at < size:
            received = self._socket.recv_into(view[at:])
            assert received, "the broker closed the connection"
            at += received
        return data


def produce(line: Line, topic: str, count: int, rss: Iterator[None]) -> None:
    """Appends batches of a megabyte each, and regularly calls ``rss``."""
    value = random.Random(1).randbytes(RECORD_BYTES)
    batch = encode_batch([Record(0, 1_700_000_000_000, b"k", value, [])])
    data = ProduceRequest.TopicProduceData(topic, ZERO_UUID, [ProduceRequest.PartitionProduceData(0, batch)])
    request = ProduceRequest(None, 1, 60_000, [data])
    frame = encode_request(request, 9, 7, "scale")
    for number in range(count + IN_FLIGHT):
        if number < count:
            line.send(frame)
        if number >= IN_FLIGHT:
            answer = line.receive(request, 9).responses[0].partition_responses[0]
            assert answer.error_code == 0
            next(rss)


def watch(pid: int, sizes: list[int]) -> Iterator[None]:
    """Notes the broker's memory after every 200 batches."""
    count = 0
    while True:
        count += 1
        if count % 200 == 0:
            sizes.append(resident_bytes(pid))
        yield


def read(line: Line, topic: str, offset: int) -> int:
    """Fetches the batch at an offset and checks it; returns the number of bytes."""
    wanted = FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1)
    request = FetchRequest(topics=[FetchRequest.FetchTopic(topic, ZERO_UUID, [wanted])], max_wait_ms=0, min_bytes=0)
    line.send(encode_request(request, 12, 7, "scale"))
    answer = line.receive(request, 12).responses[0].partitions[0]
    assert answer.error_code == 0
    data = bytes(answer.records)
    [(position, header)] = iterate_headers(data)
    [record] = decode_records(data, header, position)
    assert record.offset == offset
    assert len(record.value or b"") == RECORD_BYTES
    return len(data)


def read_so_far(pid: int) -> int:
    """The bytes that a process has read by system calls (Linux)."""
    for line in Path(f"/proc/{pid}/io").read_text().splitlines():
        if line.startswith("rchar:"):
            return int(line.split()[1])
    raise AssertionError("no rchar in /proc")


def started(broker: OurBroker) -> float:
    """Starts the broker; returns the seconds until it served."""
    began = time.monotonic()
    broker.start()
    return time.monotonic() - began


def test_a_partition_of_20_gigabytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Memory does not grow, reads find their offsets, and a start after a kill only reads data after the recovery
    point.
    """
    count = BYTES // RECORD_BYTES
    numbers: list[str] = []
    broker = OurBroker(tmp_path, CONFIGS)
    broker.start()
    try:
        assert Asking(broker.port).create("big", 1) == 0
        sizes: list[int] = []
        began = time.monotonic()
        with Line(broker.port) as line:
            produce(line, "big", count, watch(broker.pid, sizes))
        numbers.append(f"{count} MB appended at {count / (time.monotonic() - began):.0f} MB/s")
        numbers.append(f"memory {sizes[0] // MB} MB after 200 MB, {max(sizes) // MB} MB at most")
        assert max(sizes) - sizes[0] < 50 * MB, sizes
        on_disk = sum(path.stat().st_blocks * 512 for path in (broker.log_dir / "big-0").glob("*.log"))
        assert on_disk >= BYTES

        chance = random.Random(2)
        began = time.monotonic()
        with Line(broker.port) as line:
            for _ in range(READS):
                read(line, "big", chance.randrange(count))
        numbers.append(f"{READS} reads at random in {time.monotonic() - began:.1f} s")
        numbers.append(f"memory {resident_bytes(broker.pid) // MB} MB after them")
        assert resident_bytes(broker.pid) - sizes[0] < 80 * MB

        assert broker.stop() == 0
        numbers.append(f"clean start in {started(broker):.2f} s, {read_so_far(broker.pid) // MB} MB read")
        with Line(broker.port) as line:
            read(line, "big", count - 1)
            produce(line, "big", 300, watch(broker.pid, []))
        broker.kill()
        checkpoint = (broker.log_dir / "recovery-point-offset-checkpoint").read_text()
        found = re.search(r"^big 0 (\d+)$", checkpoint, re.MULTILINE)
        assert found is not None, checkpoint
        behind = count + 300 - int(found[1])
        seconds = started(broker)
        was_read = read_so_far(broker.pid) // MB
        numbers.append(f"start after kill -9 in {seconds:.2f} s, {was_read} MB read, {behind} MB were to be recovered")
        assert was_read <= behind + 150, "more than what lies behind the recovery point, headers and the program itself"
        assert "Recovered 1 logs" in broker.log() or "Recovered 2 logs" in broker.log()
        with Line(broker.port) as line:
            read(line, "big", count + 299)
            read(line, "big", 0)
    finally:
        broker.kill()
        for path in (broker.log_dir / "big-0").glob("*"):
            path.unlink()
    with capsys.disabled():
        print("\n" + "\n".join(numbers))


def test_thousands_of_partitions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Starts after clean stops and after a kill, and the cost of idle partitions."""
    numbers: list[str] = []
    broker = OurBroker(tmp_path, {**CONFIGS, "offsets.topic.num.partitions": "1"})
    seconds_empty = started(broker)
    cpu = cpu_seconds(broker.pid)
    numbers.append(
        f"{seconds_empty:.2f} s until an empty broker serves, {cpu:.2f} s of CPU; {resident_bytes(broker.pid) // MB} MB"
    )
    try:
        asking = Asking(broker.port)
        topics = [f"topic-{number}" for number in range(PARTITIONS // 100)]
        for topic in topics:
            assert asking.create(topic, 100) == 0
            for index in range(100):
                assert asking.produce(topic, index, b"x" * 100) == 0
        numbers.append(f"{PARTITIONS} partitions: {resident_bytes(broker.pid) // MB} MB after a record in each")
        seconds, cpu_times = [], []
        for _ in range(STARTS):
            assert broker.stop() == 0
            seconds.append(started(broker))
            cpu_times.append(cpu_seconds(broker.pid))
        numbers.append(
            f"starts after a clean stop: {min(seconds):.2f} to {max(seconds):.2f} s, median "
            f"{statistics.median(seconds):.2f} s; {min(cpu_times):.2f} to {max(cpu_times):.2f} s of CPU, median "
            f"{statistics.median(cpu_times):.2f} s; {resident_bytes(broker.pid) // MB} MB"
        )
        asking = Asking(broker.port)
        for topic in topics:
            for index in range(100):
                assert asking.end_offset(topic, index) == (0, 1)
        numbers.append(f"all opened: {resident_bytes(broker.pid) // MB} MB")
        broker.kill()
        numbers.append(f"start after kill -9: {started(broker):.2f} s; {resident_bytes(broker.pid) // MB} MB")
        asking = Asking(broker.port)
        for topic in topics:
            assert asking.fetch(topic, 99) == (0, [b"x" * 100])
    finally:
        broker.kill()
    with capsys.disabled():
        print("\n" + "\n".join(numbers))
