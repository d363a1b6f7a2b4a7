"""`make bench-metrics`: what metrics cost on the path of a request.

First the dispatcher alone, in this process: the same frame many times, through a dispatcher that counts and through one
that does not, in turn; the least time of the rounds. Then two brokers as processes, with and without
``odradek.metrics.listener``, under the same load in turn: their processor time, the least of the rounds.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any, cast

import uvloop

import brokers
import workloads
from brokers import Running
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.dispatch.dispatch import Dispatcher
from odradek.broker.network.connection import Connection
from odradek.broker.server.broker_server import BrokerServer
from odradek.broker.server.metrics import BrokerMetrics
from odradek.protocol.codec import Message
from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.groups import HeartbeatRequest
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.topics import CreateTopicsRequest
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from support.brokers.free_ports import free_port

TOPIC = "metrics"
CONNECTIONS = 200
A_ROUND = 250
"""Requests between two looks at the clock: short, so that some rounds are not disturbed."""
LISTENER = "odradek.metrics.listener"


class Answers:
    """The part of a connection that the dispatcher uses. It drops the answers after the first."""

    client_host, listener_name, connection_id, last_used_ms = "127.0.0.1", "PLAINTEXT", 1, 0.0
    principal = "User:ANONYMOUS"
    is_closing = False

    def __init__(self) -> None:
        self.answer = asyncio.get_running_loop().create_future()

    def answered(self, parts: Any) -> None:
        """Drops the answer."""
        if not self.answer.done():
            self.answer.set_result(None)

    def refuse(self, reason: object) -> None:
        """A frame of this bench is always served."""
        raise AssertionError(reason)


def frames(topic_id: bytes, now_ms: int) -> dict[str, memoryview]:
    """One small request of each kind."""
    batch = encode_batch([Record(0, now_ms, None, b"x" * 100, [])])
    data = ProduceRequest.TopicProduceData(TOPIC, partition_data=[ProduceRequest.PartitionProduceData(0, batch)])
    partition = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=len(batch))
    topic = FetchRequest.FetchTopic(topic_id=topic_id, partitions=[partition])
    requests: dict[str, tuple[Message, int]] = {
        "Produce, one record": (ProduceRequest(None, 1, 30_000, [data]), 9),
        "Fetch, one record": (FetchRequest(max_wait_ms=0, min_bytes=1, session_epoch=-1, topics=[topic]), 13),
        "Heartbeat": (HeartbeatRequest("none", 1, "none"), 4),
    }
    return {
        name: memoryview(encode_request(request, version, 1, "bench"))[4:]
        for name, (request, version) in requests.items()
    }


async def in_process(directory: Path, count: int) -> dict[str, tuple[float, float]]:
    """Microseconds for each request, without and with metrics."""
    overrides = ["listeners=PLAINTEXT://127.0.0.1:0", f"log.dirs={directory}", "log.segment.bytes=1073741824"]
    server = BrokerServer(ServerConfig.load(None, overrides, {}))
    await server.start()
    broker = server.running.broker
    try:
        plain = Dispatcher(broker, broker.timers.time_s, broker.config)
        await _create_topic(plain)
        metrics = BrokerMetrics(broker.config, broker.metadata)
        counted = replace(broker, topic_meters=metrics.topics)
        counting = Dispatcher(counted, broker.timers.time_s, broker.config, metering=metrics.metering)
        topic_id = broker.metadata.image.topics_by_name[TOPIC].topic_id
        best: dict[str, tuple[float, float]] = {}
        for name, frame in frames(topic_id, 1_700_000_000_000).items():
            least = [float("inf"), float("inf")]
            for _ in range(count // A_ROUND):
                least[0] = min(least[0], _microseconds(plain, frame))
                least[1] = min(least[1], _microseconds(counting, frame))
                await asyncio.sleep(0)
            best[name] = (least[0], least[1])
        return best
    finally:
        await server.stop()


async def _create_topic(dispatcher: Dispatcher) -> None:
    topic = CreateTopicsRequest.CreatableTopic(TOPIC, 1, 1)
    frame = memoryview(encode_request(CreateTopicsRequest([topic], 30_000), 5, 1, "bench"))[4:]
    connection = Answers()
    dispatcher.dispatch(cast("Connection", connection), frame, True)
    await connection.answer


def _microseconds(dispatcher: Dispatcher, frame: memoryview) -> float:
    connection = cast("Connection", Answers())
    dispatch = dispatcher.dispatch
    dispatch(connection, frame, True)
    begin = process_time()
    for _ in range(A_ROUND):
        dispatch(connection, frame, True)
    return (process_time() - begin) / A_ROUND * 1e6


@contextmanager
def broker_process(directory: Path, metrics: bool) -> Iterator[Running]:
    """Our broker from this checkout, with or without metrics."""
    directory.mkdir()
    port = free_port()
    keys = {**brokers.SAME_KEYS, "listeners": f"PLAINTEXT://127.0.0.1:{port}", "log.dirs": str(directory / "data")}
    if metrics:
        keys[LISTENER] = "127.0.0.1:0"
    overrides = [part for key, value in keys.items() for part in ("--override", f"{key}={value}")]
    command = [sys.executable, "-m", "odradek", "serve", *overrides]
    with brokers.serving(command, port, directory / "odradek.log") as running:
        yield running


def loads(scale: float) -> dict[str, tuple[int, Callable[[str, int], object]]]:
    """What a broker does under full load: how many records, and the function that moves them."""
    return {
        "200 connections, one record each": (
            int(40_000 * scale),
            lambda bootstrap, count: workloads.many_connections(bootstrap, TOPIC, CONNECTIONS, count // CONNECTIONS),
        ),
        "produce 100 B": (
            int(1_000_000 * scale),
            lambda bootstrap, count: workloads.produce(bootstrap, "small", count, 100, "1"),
        ),
        "produce 1024 B": (
            int(400_000 * scale),
            lambda bootstrap, count: workloads.produce(bootstrap, "large", count, 1024, "1"),
        ),
        "consume 1024 B": (
            int(400_000 * scale),
            lambda bootstrap, count: workloads.consume(bootstrap, "large", count, "bench"),
        ),
    }


def as_processes(scratch: Path, rounds: int, scale: float) -> dict[str, tuple[float, float]]:
    """Microseconds of the broker's processor time for each record, without and with metrics."""
    least: dict[str, list[float]] = {}
    with ExitStack() as stack:
        both = [stack.enter_context(broker_process(scratch / str(on), on)) for on in (False, True)]
        for running in both:
            for topic in (TOPIC, "small", "large"):
                workloads.create_topic(running.bootstrap, topic)
        for number in range(rounds + 1):
            for name, (count, run) in loads(scale).items():
                for index, running in enumerate(both):
                    before = running.cpu_seconds()
                    run(running.bootstrap, count)
                    if number:  # the first round warms up
                        took = (running.cpu_seconds() - before) / count * 1e6
                        best = least.setdefault(name, [float("inf"), float("inf")])
                        best[index] = min(best[index], took)
    return {name: (off, on) for name, (off, on) in least.items()}


def show(what: str, rows: dict[str, tuple[float, float]]) -> None:
    """Prints a table in Markdown."""
    print(f"| {what} | without metrics, us | with, us | difference, us | |\n|---|---:|---:|---:|---:|")
    for name, (off, on) in rows.items():
        print(f"| {name} | {off:.2f} | {on:.2f} | {on - off:.2f} | {(on / off - 1) * 100:.1f} % |")
    print()


def main() -> int:
    """Measures and prints; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200_000, help="requests of each kind to the dispatcher alone")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of the loads of the processes")
    parser.add_argument("--scale", type=float, default=1.0, help="factor for the loads of the processes; 0: none")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as place:
        scratch = Path(place)
        alone = uvloop.run(in_process(scratch / "alone", arguments.count))
        show("dispatcher alone, each request", alone)
        if arguments.scale:
            show("broker process, each record", as_processes(scratch, arguments.rounds, arguments.scale))
    return 0


if __name__ == "__main__":
    sys.exit(main())
