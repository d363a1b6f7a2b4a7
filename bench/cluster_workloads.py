"""What `make bench-cluster` measures of a cluster of three brokers, with the unmodified confluent-kafka client.

Every topic has three replicas of each partition, every write acks=all. Each function returns figures by name.
"""

import contextlib
import itertools
import socket
import statistics
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, ClusterMetadata, NewTopic, PartitionMetadata  # type: ignore[attr-defined]

import workloads
from cluster_brokers import BROKERS, Cluster
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.codec import decoder
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.messages.headers import ResponseHeader
from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from support.eventually import eventually

Figures = dict[str, float]
TIMEOUT_S = 120.0
SILENT = {"log_level": 0}
"""The client logs every lost connection."""
WRITE_EVERY_S = 0.005
ACKS_AFTERWARDS = 50
"""Writes that must succeed under the new leader before a fail-over counts as over."""
MESSAGE_BYTES = (100, 1024)
PRODUCE_VERSION = 9


class Topics:
    """The topics of a cluster, as its brokers name them."""

    def __init__(self, bootstrap: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap, **SILENT})

    def create(self, topic: str, partitions: int) -> None:
        """Creates a topic; the brokers take turns as the leaders of its partitions."""
        replicas = [[BROKERS[(index + place) % 3] for place in range(3)] for index in range(partitions)]
        wanted = NewTopic(topic, partitions, replica_assignment=replicas)
        for _ in BROKERS:
            with contextlib.suppress(KafkaException):
                self._create(wanted)
                return
            if topic in self.names():
                return
        self._create(wanted)

    def _create(self, wanted: NewTopic) -> None:
        futures = self._admin.create_topics([wanted], operation_timeout=TIMEOUT_S, request_timeout=TIMEOUT_S)
        futures[wanted.topic].result(TIMEOUT_S)

    def names(self) -> set[str]:
        """The topics."""
        return set(self._metadata(None).topics)

    def _metadata(self, topic: str | None) -> ClusterMetadata:
        """The client's request fails if it has gone to a broker that ends: others are asked then."""
        for _ in BROKERS:
            with contextlib.suppress(KafkaException):
                return self._admin.list_topics(topic, timeout=TIMEOUT_S)
        return self._admin.list_topics(topic, timeout=TIMEOUT_S)

    def partitions(self, topic: str) -> dict[int, PartitionMetadata]:
        """The partitions of a topic."""
        return self._metadata(topic).topics[topic].partitions

    def leader(self, topic: str, partition: int = 0) -> int:
        """The leader of a partition, -1 without one."""
        found = self.partitions(topic).get(partition)
        return -1 if found is None else int(found.leader)

    def wait_in_sync(self, topic: str) -> None:
        """Waits until all partitions have a leader and all replicas in the ISR."""
        eventually(
            f"all replicas of {topic} are in sync",
            lambda: all(len(one.isrs) == 3 and one.leader >= 0 for one in self.partitions(topic).values()),
            patience_s=TIMEOUT_S,
            every_s=0.1,
        )


class SteadyWriter:
    """Writes one record every 5 ms to one partition, and notes when each was acknowledged."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acknowledged: list[float] = []
        """Times by ``time.perf_counter``."""
        self._topic = topic
        self._failed: list[str] = []
        self._producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0, **SILENT})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        self.wait_for_more()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        assert error is not None or not self._failed, self._failed[:3]

    def _run(self) -> None:
        next_s = time.perf_counter()
        while not self._stop.is_set():
            self._producer.produce(self._topic, bytes(100), partition=0, on_delivery=self._delivered)
            next_s = max(next_s + WRITE_EVERY_S, time.perf_counter())
            while (left_s := next_s - time.perf_counter()) > 0:
                self._producer.poll(left_s)
        self._producer.flush(TIMEOUT_S)

    def _delivered(self, error: Any, message: Message) -> None:
        if error is None:
            self.acknowledged.append(time.perf_counter())
        else:
            self._failed.append(str(error))

    def wait_for_more(self) -> None:
        """Waits for some acknowledgements from now on."""
        wanted = len(self.acknowledged) + ACKS_AFTERWARDS
        eventually("writes are acknowledged", lambda: len(self.acknowledged) >= wanted, every_s=0.01)

    def longest_gap(self, since: float) -> float:
        """The longest time without an acknowledgement that ended after ``since``. Seconds."""
        times = self.acknowledged
        return max(later - earlier for earlier, later in itertools.pairwise(times) if later > since)


def produce(cluster: Cluster, topics: Topics, scale: float) -> Figures:
    """Throughput of one and of four producers, and the latency of one record at a time."""
    figures: Figures = {}
    _warm_up(cluster, topics, scale)
    cpu_before = cluster.cpu_seconds()
    produced_bytes = 0
    for size, count in zip(MESSAGE_BYTES, (int(600_000 * scale), int(200_000 * scale)), strict=True):
        for producers in (1, 4):
            topic = f"throughput-{size}-{producers}"
            topics.create(topic, 3)
            found = _throughput(cluster.bootstrap, topic, count, size, producers)
            name = f"produce {size} B, {producers} producer{'s' if producers > 1 else ''}"
            figures |= {f"{name}, records/s": found, f"{name}, MB/s": found * size / 1e6}
            produced_bytes += count * size
    figures["produce, brokers' CPU s/GB"] = (cluster.cpu_seconds() - cpu_before) / (produced_bytes / 1e9)
    for size in MESSAGE_BYTES:
        topic = f"latency-{size}"
        topics.create(topic, 1)
        found_ms = workloads.acked_latency(cluster.bootstrap, topic, int(2_000 * scale) + 50, size)
        figures |= {f"acked produce {size} B, {name}": value for name, value in found_ms.items()}
    figures["memory of three brokers after load MB"] = cluster.memory_mb()
    return figures


def _warm_up(cluster: Cluster, topics: Topics, scale: float) -> None:
    """Untimed work of every kind: the JVM compiles what it runs often."""
    topics.create("warm-up", 3)
    for size in MESSAGE_BYTES:
        _throughput(cluster.bootstrap, "warm-up", int(200_000 * scale), size, 2)
        workloads.acked_latency(cluster.bootstrap, "warm-up", int(1_000 * scale), size)


def _throughput(bootstrap: str, topic: str, count: int, size: int, producers: int) -> float:
    """Records a second that ``producers`` clients write together, ``count`` in all."""
    each = max(1, count // producers)
    begin = time.perf_counter()
    with ThreadPoolExecutor(producers) as pool:
        for done in [pool.submit(workloads.produce, bootstrap, topic, each, size, "all") for _ in range(producers)]:
            done.result()
    return each * producers / (time.perf_counter() - begin)


def fail_over(cluster: Cluster, topics: Topics) -> Figures:
    """Time without writes when the leader is killed, and when it is stopped; each broker comes back."""
    topic = "fail-over"
    if topic not in topics.names():
        topics.create(topic, 1)
    figures: Figures = {}
    with SteadyWriter(cluster.bootstrap, topic) as writer:
        leader = topics.leader(topic)
        begin = time.perf_counter()
        cluster.kill(leader)
        _wait_for_other_leader(topics, topic, leader)
        writer.wait_for_more()
        figures["leader killed: without writes s"] = writer.longest_gap(begin)
        cluster.start(leader)
        topics.wait_in_sync(topic)

        leader = topics.leader(topic)
        begin = time.perf_counter()
        process = cluster.terminate(leader)
        _wait_for_other_leader(topics, topic, leader)
        writer.wait_for_more()
        figures["leader stopped: without writes s"] = writer.longest_gap(begin)
        process.wait(TIMEOUT_S)
        figures["leader stopped: until its process has ended s"] = time.perf_counter() - begin
        cluster.start(leader)
        topics.wait_in_sync(topic)
    return figures


def _wait_for_other_leader(topics: Topics, topic: str, leader: int) -> None:
    eventually("another broker leads", lambda: topics.leader(topic) not in (leader, -1), every_s=0.1)


def many_partitions(cluster: Cluster, topics: Topics, count: int, idle_s: float) -> Figures:
    """A topic of many partitions, each on all three brokers: created, idle, a third of them without their leader."""
    topic, name = "many", f"{count:,} partitions"
    figures: Figures = {}
    begin = time.perf_counter()
    topics.create(topic, count)
    figures[f"{name}: create, answered s"] = time.perf_counter() - begin
    topics.wait_in_sync(topic)
    _write_to_each(cluster, topics, topic, range(count))
    figures[f"{name}: create, and one record in each, s"] = time.perf_counter() - begin
    figures[f"{name}: memory of three brokers MB"] = cluster.memory_mb()
    cpu_before, begin = cluster.cpu_seconds(), time.perf_counter()
    time.sleep(idle_s)
    figures[f"{name}: idle, CPU of three brokers, % of a core"] = (
        100 * (cluster.cpu_seconds() - cpu_before) / (time.perf_counter() - begin)
    )
    latency = workloads.acked_latency(cluster.bootstrap, topic, 500, 100)
    figures |= {f"{name}: acked produce 100 B, {what}": value for what, value in latency.items()}
    victim = BROKERS[0]
    led = [index for index, one in topics.partitions(topic).items() if one.leader == victim]
    begin = time.perf_counter()
    cluster.kill(victim)
    _write_to_each(cluster, topics, topic, led)
    figures[f"{name}: broker killed, until all take writes s"] = time.perf_counter() - begin
    begin = time.perf_counter()
    figures[f"{name}: start after the kill, until unfenced s"] = cluster.start(victim)
    topics.wait_in_sync(topic)
    figures[f"{name}: start after the kill, until all are in sync s"] = time.perf_counter() - begin
    return figures


def _write_to_each(cluster: Cluster, topics: Topics, topic: str, partitions: Iterable[int]) -> None:
    """Writes one record to each partition, and waits until all in-sync replicas have all of them.

    One request for each leader, on raw sockets: librdkafka sends a request for each partition, one after the other.
    What a broker refuses, because it has not heard of the topic or of its leadership yet, is written again.
    """
    missing = set(partitions)

    def all_written() -> bool:
        by_leader: dict[int, list[int]] = {}
        for index, found in topics.partitions(topic).items():
            if index in missing and found.leader in cluster.nodes and cluster.nodes[found.leader].process is not None:
                by_leader.setdefault(found.leader, []).append(index)
        with ThreadPoolExecutor(len(BROKERS)) as pool:
            for written in pool.map(lambda one: _write(cluster.nodes[one[0]].port, topic, one[1]), by_leader.items()):
                missing.difference_update(written)
        return not missing

    eventually(lambda: f"{len(missing)} partitions more take a record", all_written, patience_s=TIMEOUT_S)


def _write(port: int, topic: str, partitions: list[int]) -> list[int]:
    """Writes one record to each of these partitions, which the broker leads. Returns those that all replicas have."""
    batch = encode_batch([Record(0, int(time.time() * 1000), None, bytes(100), [])])
    data = [ProduceRequest.PartitionProduceData(index, batch) for index in partitions]
    request = ProduceRequest(None, -1, 30_000, [ProduceRequest.TopicProduceData(name=topic, partition_data=data)])
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as one, one.makefile("rb") as stream:
        one.sendall(encode_request(request, PRODUCE_VERSION, 1, "bench"))
        frame = stream.read(int.from_bytes(stream.read(4), "big"))
    _, position = decoder(ResponseHeader, response_header_version(ApiKey.PRODUCE, PRODUCE_VERSION))(frame, 0)
    response: ProduceResponse = decoder(ProduceResponse, PRODUCE_VERSION)(frame, position)[0]
    answers = [answer for found in response.responses for answer in found.partition_responses]
    return [answer.index for answer in answers if not answer.error_code]


def start_all(cluster: Cluster) -> Figures:
    """Starts the brokers, one after the other."""
    seconds = [cluster.start(node_id) for node_id in BROKERS]
    return {
        "start until unfenced s": statistics.median(seconds),
        "memory of three brokers idle MB": cluster.memory_mb(),
    }
