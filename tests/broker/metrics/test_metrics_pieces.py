"""An exposition in pieces equals that of prometheus_client, and its turns are bounded."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterator
from itertools import chain

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from odradek.broker.http.connection import HttpLimits
from odradek.broker.metrics.endpoint import MetricsEndpoint
from odradek.broker.metrics.pieces import SAMPLES_A_PIECE, Sample, encoded, in_pieces

COUNT = 3 * SAMPLES_A_PIECE + 1


def many() -> GaugeMetricFamily:
    return GaugeMetricFamily("many", "Of each.", labels=("name",))


def samples(count: int) -> Iterator[Sample]:
    return (Sample((f'strange\n# "{number}"\\',), number) for number in range(count))


class InPieces:
    """A large family between two small ones, which counts its pieces."""

    def __init__(self, count: int) -> None:
        self.made = 0
        self._count = count

    def pieces(self) -> Iterator[Metric]:
        for piece in chain(
            (GaugeMetricFamily("first", "One.", value=1),),
            in_pieces(many, samples(self._count)),
            (CounterMetricFamily("last", "One.", value=2),),
        ):
            self.made += 1
            yield piece


class AtOnce(Collector):
    """The same families, each whole."""

    def collect(self) -> Iterator[Metric]:
        family = many()
        for labels, value in samples(COUNT):
            family.add_metric(labels, value)
        yield GaugeMetricFamily("first", "One.", value=1)
        yield family
        yield CounterMetricFamily("last", "One.", value=2)


@pytest.mark.parametrize("encode", [generate_latest, openmetrics.generate_latest])
def test_pieces_together_are_the_whole(encode: object) -> None:
    assert callable(encode)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(AtOnce())
    source = InPieces(COUNT)
    assert b"".join(encoded(source, encode)) == encode(registry)
    assert source.made == 6


async def answer(port: int, version: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /metrics HTTP/{version}\r\nHost: here\r\n\r\n".encode())
    received = await reader.read()
    writer.close()
    return received


@pytest.mark.parametrize(("turn_s", "made"), [(0.0, 1), (60.0, 6)])
async def test_a_turn_of_the_event_loop_makes_what_it_has_time_for(turn_s: float, made: int) -> None:
    source = InPieces(COUNT)
    endpoint = MetricsEndpoint(source, limits=HttpLimits(turn_s=turn_s))
    port = await endpoint.start("127.0.0.1", 0)
    most = seen = 0

    async def watch() -> None:
        nonlocal most, seen
        while True:
            most, seen = max(most, source.made - seen), source.made
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    await asyncio.gather(*(answer(port, "1.1") for _ in range(5)))
    watching.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watching
    endpoint.stop()
    assert source.made == 5 * 6
    assert most == made


async def test_a_client_of_http_1_0_gets_no_chunks() -> None:
    endpoint = MetricsEndpoint(InPieces(COUNT))
    port = await endpoint.start("127.0.0.1", 0)
    head, body = (await answer(port, "1.0")).split(b"\r\n\r\n", 1)
    assert b"chunked" not in head
    assert body == b"".join(encoded(InPieces(COUNT), generate_latest))
    head, body = (await answer(port, "1.1")).split(b"\r\n\r\n", 1)
    assert b"Transfer-Encoding: chunked" in head
    endpoint.stop()


async def test_an_answer_that_is_not_read_is_made_no_further() -> None:
    source = InPieces(10_000_000)
    endpoint = MetricsEndpoint(source)
    port = await endpoint.start("127.0.0.1", 0)
    _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n")
    before = -1
    unchanged = 0
    while unchanged < 100:
        unchanged = unchanged + 1 if source.made == before > 0 else 0
        before = source.made
        await asyncio.sleep(0)
    assert source.made < 10_000_000 // SAMPLES_A_PIECE
    writer.transport.abort()
    endpoint.stop()


class Warned(logging.Handler):
    """Sets an event when a warning is logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.event = asyncio.Event()
        self.words = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.words = record.getMessage()
        self.event.set()


async def test_a_client_that_reads_nothing_is_cut_off_and_named() -> None:
    warned = Warned()
    log = logging.getLogger("odradek.broker.http.connection")
    log.addHandler(warned)
    endpoint = MetricsEndpoint(InPieces(10_000_000), limits=HttpLimits(max_wait_s=0.05))
    port = await endpoint.start("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n")
    await warned.event.wait()
    log.removeHandler(warned)
    assert "has read none of its metrics" in warned.words
    with contextlib.suppress(ConnectionResetError):
        while await reader.read(1 << 20):
            pass
    writer.close()
    endpoint.stop()


class SlowPieces(InPieces):
    """Makes its first piece only after the time that a client may take to read."""

    def pieces(self) -> Iterator[Metric]:
        until_s = time.monotonic() + 0.1
        while time.monotonic() < until_s:
            pass
        yield from super().pieces()


async def test_a_long_answer_is_not_cut_off() -> None:
    endpoint = MetricsEndpoint(SlowPieces(COUNT), limits=HttpLimits(max_wait_s=0.05))
    port = await endpoint.start("127.0.0.1", 0)
    _, body = (await answer(port, "1.0")).split(b"\r\n\r\n", 1)
    assert body == b"".join(encoded(InPieces(COUNT), generate_latest))
    endpoint.stop()
