"""Two brokers that get the same requests, one with lanes and one without: whatever differs is a fault of a lane.

Both run on one event loop with one clock and the same random ids. Requests go to one after the other, so each log line
belongs to one of them.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.lanes import lanes
from odradek.broker.server import random_ids
from odradek.broker.server.broker_server import BrokerServer
from odradek.broker.server.surroundings import Surroundings

PATIENCE_S = 60
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAA"
BACKGROUND = (
    "group.consumer.max.session.timeout.ms",
    "group.consumer.session.timeout.ms",
    "group.max.session.timeout.ms",
    "log.cleaner.backoff.ms",
    "log.retention.check.interval.ms",
    "offsets.retention.check.interval.ms",
    "producer.id.expiration.check.interval.ms",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
)
"""What happens after such a time would happen at different moments in the two brokers, so it does not happen."""
ANOTHER = -1
"""A connection that no other request uses."""
NOW_MS = 1_700_000_000_000
LOGGERS = (
    "odradek.authorizer",
    "odradek.broker.api",
    "odradek.broker.coordinator",
    "odradek.broker.dispatch",
    "odradek.broker.network",
)
"""The loggers of requests; lines of background work depend on the speed of the machine."""


class Twin:
    """One of the two brokers. ``answers``: of each request, as bytes; None if the connection was closed."""

    def __init__(self, server: BrokerServer, random: Random, log_dir: Path) -> None:
        self.server = server
        self.random = random
        self.log_dir = log_dir
        self.lines: list[str] = []
        self._connections: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}

    async def send(self, connection: int, data: bytes) -> None:
        """Sends frames on a connection."""
        if connection not in self._connections:
            port = next(iter(self.server.listeners)).port
            self._connections[connection] = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
        self._connections[connection][1].write(data)

    async def ask(self, connection: int, data: bytes, answers: int) -> list[bytes] | None:
        """Sends frames on a connection and returns as many answers; None if the broker closes it instead."""
        await self.send(connection, data)
        reader, writer = self._connections[connection]
        frames: list[bytes] = []
        try:
            async with asyncio.timeout(PATIENCE_S):
                while len(frames) < answers:
                    size = await reader.readexactly(4)
                    frames.append(size + await reader.readexactly(int.from_bytes(size, "big")))
        except (asyncio.IncompleteReadError, ConnectionError):
            self._connections.pop(connection)
            writer.close()
            return None
        return frames

    async def settled(self, connection: int) -> None:
        """Waits until an earlier request that gets no answer was served: the connection then still answers, or not."""
        # ApiVersions version 0, correlation id -1, no client id.
        await self.ask(connection, bytes.fromhex("0000000a00120000ffffffffffff"), 1)

    def close(self) -> None:
        for _, writer in self._connections.values():
            writer.close()

    def counts(self) -> dict[str, Any]:
        """What the metrics have counted, without times."""
        metrics = self.server.running.parts.metrics
        if metrics is None:
            return {}
        counts: dict[str, Any] = {}
        for name, topic in metrics.topics:
            counts[name] = {each: getattr(topic, each) for each in topic.__slots__}
        for meter in metrics._requests:
            versions = {version: (one.requests, one.request_bytes) for version, one in meter.versions.items()}
            counts[meter.name] = versions, meter.response_bytes, meter.errors, meter.total.count, meter.local.count
        return counts

    def files(self) -> dict[str, bytes]:
        """The bytes of all logs, without those of the metadata and of deleted topics."""
        return {
            str(path.relative_to(self.log_dir)): path.read_bytes()
            for path in sorted(self.log_dir.rglob("*.log"))
            if "__cluster_metadata" not in str(path) and "-delete" not in str(path)
        }


class Twins:
    """The two brokers. ``served``: how many requests lanes have served."""

    def __init__(self, with_lanes: Twin, without: Twin, served: list[int], clock: list[int]) -> None:
        self.with_lanes = with_lanes
        self.without = without
        self._served = served
        self._clock = clock
        self.compares_lines = True
        """False while a request of an earlier :meth:`send` waits: it logs while either of them is asked."""

    @property
    def served(self) -> int:
        return self._served[0]

    def advance(self, ms: int) -> None:
        self._clock[0] += ms

    async def send(self, connection: int, data: bytes) -> None:
        """Sends frames to both. Their answers come later."""
        for twin in (self.with_lanes, self.without):
            _active[0] = twin
            await twin.send(connection, data)
            await twin.settled(ANOTHER)  # both connections are read in one turn of the loop

    async def ask(self, connection: int, data: bytes, answers: int = 1) -> list[bytes] | None:
        """The answers of both. AssertionError if answers or log lines differ."""
        found = []
        for twin in (self.with_lanes, self.without):
            _active[0] = twin
            answered = await twin.ask(connection, data, answers)
            if not answers and answered is not None:
                await twin.settled(connection)
            found.append((answered, twin.lines[:] if self.compares_lines else []))
            twin.lines.clear()
        (ours, our_lines), (theirs, their_lines) = found
        assert ours == theirs, f"{data!r}: with lanes {ours!r}, without {theirs!r}"
        assert our_lines == their_lines, f"{data!r}: with lanes {our_lines}, without {their_lines}"
        return ours

    def compare(self) -> None:
        """AssertionError if counts or files differ."""
        our_counts, their_counts = self.with_lanes.counts(), self.without.counts()
        for name, count in our_counts.items():
            assert count == their_counts.get(name), f"{name}: with lanes {count}, without {their_counts.get(name)}"
        assert our_counts.keys() == their_counts.keys()
        ours, theirs = self.with_lanes.files(), self.without.files()
        assert ours.keys() == theirs.keys()
        for name, data in ours.items():
            assert data == theirs[name], name


_active: list[Twin | None] = [None]


class _Lines(logging.Handler):
    """Gives each log line to the broker that serves a request."""

    def emit(self, record: logging.LogRecord) -> None:
        twin = _active[0]
        if twin is not None and record.name.startswith(LOGGERS):
            port = next(iter(twin.server.listeners)).port
            text = record.getMessage().replace(str(twin.log_dir), "DIR").replace(str(port), "PORT")
            # The port of the client's socket differs.
            twin.lines.append(f"{record.name} {record.levelname} " + _without_ports(text))


def _without_ports(text: str) -> str:
    words = text.split("127.0.0.1:")
    return "127.0.0.1".join([words[0], *(word.lstrip("0123456789") for word in words[1:])])


def _counting(make: Callable[..., Any], served: list[int]) -> Callable[..., Any]:
    """Makes lanes that count what they serve."""

    def lane_of(self: Any, route: Any, answering: Any, **more: Any) -> Any:
        lane = make(self, route, answering, **more)
        if lane is None:
            return None

        def serve(connection: Any, frame: memoryview) -> Any:
            result = lane(connection, frame)
            served[0] += result is True
            return result

        return serve

    return lane_of


@asynccontextmanager
async def twins(directory: Path, configs: Mapping[str, str], monkeypatch: Any) -> AsyncIterator[Twins]:
    """Starts both brokers."""
    clock, served = [NOW_MS], [0]
    started: list[Twin] = []

    real = random_ids._random_bytes

    def random_bytes() -> bytes:
        twin = _active[0]
        return real() if twin is None else twin.random.randbytes(16)

    monkeypatch.setattr(random_ids, "_random_bytes", random_bytes)
    monkeypatch.setattr(lanes.BrokerLanes, "lane_of", _counting(lanes.BrokerLanes.lane_of, served))
    lines = _Lines()
    root = logging.getLogger("odradek")
    level = root.level
    try:
        for name in ("true", "false"):
            keys = {
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "advertised.listeners": "PLAINTEXT://127.0.0.1:9092",
                "log.dirs": str(directory / name),
                "odradek.request.lanes.enable": name,
                "offsets.topic.num.partitions": "1",
                "transaction.state.log.num.partitions": "1",
                "group.initial.rebalance.delay.ms": "0",
                **dict.fromkeys(BACKGROUND, "86400000"),
                **configs,
            }
            config = ServerConfig.load(None, [f"{key}={value}" for key, value in keys.items()], {})
            server = BrokerServer(config, CLUSTER_ID, surroundings=Surroundings(clock_ms=lambda: clock[0]))
            twin = Twin(server, Random(5), directory / name)
            _active[0] = twin
            await server.start()
            started.append(twin)
            server.broker.fetch_sessions._random = Random(7)
        root.addHandler(lines)
        root.setLevel(logging.INFO)
        yield Twins(started[0], started[1], served, clock)
    finally:
        root.removeHandler(lines)
        root.setLevel(level)
        for twin in started:
            _active[0] = twin
            twin.close()
            await twin.server.stop()
        _active[0] = None
