"""What the bench measures: each a function that drives a broker with the unmodified confluent-kafka client.

Every workload is what users do, with the client's defaults but for what its name says; each returns figures by name.
"""

import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

Figures = dict[str, float]


def create_topic(bootstrap: str, name: str, partitions: int = 1) -> None:
    """Creates a topic of one replica; KafkaException when that fails or takes 30 s."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(name, partitions, 1)]).values():
        future.result(30)


def produce(bootstrap: str, topic: str, count: int, size: int, acks: str) -> Figures:
    """Produces ``count`` records of ``size`` bytes to one partition as fast as the client can."""
    failed: list[str] = []

    def delivered(error: Any, message: Message) -> None:
        if error is not None:
            failed.append(str(error))

    producer = Producer(
        {"bootstrap.servers": bootstrap, "acks": acks, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000}
    )
    value = bytes(size)
    producer.list_topics(topic, timeout=30)
    begin = time.perf_counter()
    for _ in range(count):
        while True:
            try:
                producer.produce(topic, value, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.01)
        producer.poll(0)
    producer.flush(120)
    seconds = time.perf_counter() - begin
    assert not failed, failed[:3]
    return {"records/s": count / seconds, "MB/s": count * size / seconds / 1e6}


def consume(bootstrap: str, topic: str, count: int, group: str) -> Figures:
    """Consumes ``count`` records from the beginning; timed from the first record's arrival to the last's.

    The client may queue all of it: with its defaults it rests a second (fetch.queue.backoff.ms) each time that it has
    queued 100,000 records, and those seconds would be most of what is measured, for either broker.
    """
    unpaused = {"queued.min.messages": 10_000_000, "queued.max.messages.kbytes": 2_097_151}
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", **unpaused}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    got = 0
    size = 0
    begin = 0.0
    while got < count:
        messages = consumer.consume(min(10_000, count - got) if got else 1, 30)
        assert messages, f"no message within 30 s after {got} of {count}"
        if not got:
            begin = time.perf_counter()
        for message in messages:
            assert message.error() is None, message.error()
            size += len(message.value() or b"")
        got += len(messages)
    seconds = time.perf_counter() - begin
    consumer.close()
    return {"records/s": got / seconds, "MB/s": size / seconds / 1e6}


def warm_up(bootstrap: str, count: int) -> None:
    """Untimed work of every kind, so that what is timed later runs compiled code: a JVM needs it most."""
    create_topic(bootstrap, "warm-up")
    for size in (100, 1024):
        for acks in ("1", "all"):
            produce(bootstrap, "warm-up", count, size, acks)
    consume(bootstrap, "warm-up", 4 * count, "warm-up")
    acked_latency(bootstrap, "warm-up", 500)
    commit_latency(bootstrap, "warm-up", 500)
    many_connections(bootstrap, "warm-up", 50, 10)


def percentiles(samples: list[float]) -> Figures:
    """Median and 99th percentile of seconds, in milliseconds; sorts ``samples``."""
    samples.sort()
    return {
        "p50 ms": samples[len(samples) // 2] * 1000,
        "p99 ms": samples[min(len(samples) - 1, len(samples) * 99 // 100)] * 1000,
    }


def acked_latency(bootstrap: str, topic: str, count: int, size: int = 100) -> Figures:
    """One record of ``size`` bytes at a time, each awaited before the next (acks=all, no linger)."""
    done = threading.Event()

    def delivered(error: Any, message: Message) -> None:
        assert error is None, error
        done.set()

    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0})
    producer.list_topics(topic, timeout=30)
    value = b"x" * size
    samples = []
    for index in range(count + 50):
        done.clear()
        begin = time.perf_counter()
        producer.produce(topic, value, on_delivery=delivered)
        while not done.is_set():
            producer.poll(1)
        if index >= 50:
            samples.append(time.perf_counter() - begin)
    return percentiles(samples)


def commit_latency(bootstrap: str, topic: str, count: int) -> Figures:
    """Synchronous commits of one partition's offset by a consumer that assigned itself."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"commit-{topic}", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    samples = []
    for offset in range(count):
        begin = time.perf_counter()
        consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
        samples.append(time.perf_counter() - begin)
    consumer.close()
    return percentiles(samples)


def first_message(bootstrap: str, topic: str, group: str) -> float:
    """Seconds from subscribe to the first record, in a new group."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"})
    begin = time.perf_counter()
    consumer.subscribe([topic])
    message = consumer.poll(60)
    seconds = time.perf_counter() - begin
    assert message is not None, "no message within 60 s"
    assert message.error() is None, message.error()
    consumer.close()
    return seconds


def many_connections(bootstrap: str, topic: str, connections: int, rounds: int) -> Figures:
    """``connections`` producers at once, each with one record at a time.

    On raw sockets with one prepared Produce request: that many librdkafka instances would measure their own threads.
    """
    host, port = bootstrap.rsplit(":", 1)
    request = _produce_request(topic)

    def run(sockets: list[socket.socket]) -> None:
        for _ in range(rounds):
            for one in sockets:
                one.sendall(request)
            for one in sockets:
                _read_answer(one)

    opened = [socket.create_connection((host, int(port))) for _ in range(connections)]
    for one in opened:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    begin = time.perf_counter()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, [opened[i::4] for i in range(4)]))
    seconds = time.perf_counter() - begin
    for one in opened:
        one.close()
    return {"requests/s": connections * rounds / seconds}


def _produce_request(topic: str) -> bytes:
    from odradek.protocol.codec.header import encode_request
    from odradek.protocol.messages.produce import ProduceRequest
    from odradek.protocol.records.builder import encode_batch
    from odradek.protocol.records.record import Record

    batch = encode_batch([Record(0, int(time.time() * 1000), None, b"x" * 100, [])])
    partition = ProduceRequest.PartitionProduceData(0, batch)
    request = ProduceRequest(None, 1, 30_000, [ProduceRequest.TopicProduceData(name=topic, partition_data=[partition])])
    return encode_request(request, 9, 1, "bench")


def _read_answer(one: socket.socket) -> bytes:
    """One response frame, in one call to the system where it came in one piece: the driver must cost little."""
    data = one.recv(4096)
    while len(data) < 4 or len(data) < 4 + struct.unpack_from(">i", data)[0]:
        more = one.recv(4096)
        assert more, "the broker closed the connection"
        data += more
    return data
