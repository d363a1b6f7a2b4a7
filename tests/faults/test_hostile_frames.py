"""Random and mutated frames into a listening broker: it serves throughout and stays as small as it was.

The seed is printed with a failure; ``ODRADEK_FAULTS_SEED=<seed>`` sends the same frames again.
"""

import asyncio
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request
from odradek.protocol.framing import SIZE
from odradek.protocol.messages.metadata import ApiVersionsRequest, ApiVersionsResponse
from support.brokers.hostile_frames import hostile_frame
from support.brokers.our_broker import OurBroker, resident_bytes

MAX_GROWTH_BYTES = 50 * 1024 * 1024
CONNECTIONS = 64
PATIENCE_S = 120.0
PROBE_ID = 0x70726F62
ANSWER_WITHIN_S = 0.1
"""A request without an answer after this time counts as parked (a waiting Fetch, a JoinGroup) if the broker answered
another client later. Then the connection is closed, and the test continues."""
FRAMES_BETWEEN_CHECKS = 2_000


class Attack:
    """Sends frames over many connections; counts the connections that the broker closed."""

    def __init__(self, port: int, seed: int) -> None:
        self._port = port
        self._seed = seed
        self.closed = 0
        self.parked = 0
        self.answered = 0

    async def send(self, numbers: range) -> None:
        """Sends the frames of these numbers; returns when each was answered, refused or parked."""
        waiting = iter(numbers)
        await asyncio.gather(*(self._worker(waiting) for _ in range(CONNECTIONS)))

    async def _worker(self, numbers: Iterator[int]) -> None:
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        probe = encode_request(ApiVersionsRequest(), 0, PROBE_ID, "probe")
        for number in numbers:
            if streams is None:
                streams = await asyncio.open_connection("127.0.0.1", self._port)
            reader, writer = streams
            try:
                writer.write(hostile_frame(self._seed, number) + probe)
                is_answered = await self._is_answered(reader)
            except (asyncio.IncompleteReadError, ConnectionError):
                self.closed += 1
                writer.close()
                streams = None
                continue
            if is_answered:
                self.answered += 1
            else:
                self.parked += 1
                writer.close()
                streams = None
        if streams is not None:
            streams[1].close()

    async def _is_answered(self, reader: asyncio.StreamReader) -> bool:
        """Whether the probe is answered: False if a later request was answered and some time has passed."""
        reading = asyncio.ensure_future(self._read_probe(reader))
        await asyncio.wait([reading], timeout=ANSWER_WITHIN_S)
        if not reading.done():
            await self._ask_from_elsewhere()
            await asyncio.wait([reading], timeout=ANSWER_WITHIN_S)
        if not reading.done():
            reading.cancel()
            return False
        reading.result()
        return True

    async def _ask_from_elsewhere(self) -> None:
        """An honest question on a connection of its own, however long the broker takes on a busy machine."""
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            writer.write(encode_request(ApiVersionsRequest(), 0, PROBE_ID, "honest"))
            await self._read_probe(reader)
            writer.close()

    async def _read_probe(self, reader: asyncio.StreamReader) -> None:
        """Reads answers until the probe's: then everything before it has been dealt with."""
        while True:
            (size,) = SIZE.unpack(await reader.readexactly(4))
            answer = await reader.readexactly(size)
            if int.from_bytes(answer[:4]) == PROBE_ID:
                response, _ = decode(ApiVersionsResponse, 0, answer, 4)
                if response.error_code == 0 and response.api_keys:
                    return


def check_that_it_serves(broker: OurBroker, round_number: int) -> None:
    """An honest client produces a record and reads it back."""
    topic = f"honest-{round_number}"
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, b"value")
    assert producer.flush(60) == 0, "an honest record was not acknowledged"
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": topic, "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    message = consumer.poll(60)
    consumer.close()
    assert message is not None
    assert message.value() == b"value"


def attack(directory: Path, count: int) -> None:
    seed = int(os.environ.get("ODRADEK_FAULTS_SEED") or random.SystemRandom().randrange(1 << 32))
    replay = f"ODRADEK_FAULTS_SEED={seed} replays it"
    with OurBroker(directory, {"group.initial.rebalance.delay.ms": "0"}) as broker:
        check_that_it_serves(broker, 0)
        before = resident_bytes(broker.pid)
        sender = Attack(broker.port, seed)
        for round_number, first in enumerate(range(0, count, FRAMES_BETWEEN_CHECKS), 1):
            asyncio.run(sender.send(range(first, min(first + FRAMES_BETWEEN_CHECKS, count))))
            assert broker.process.poll() is None, f"the broker ended; {replay}\n{broker.log()[-3000:]}"
            if round_number % 10 == 1:
                check_that_it_serves(broker, round_number)
            growth = resident_bytes(broker.pid) - before
            assert growth < MAX_GROWTH_BYTES, f"grown by {growth} bytes after {first} frames; {replay}"
        lines = broker.log().splitlines()
        errors = [number for number, line in enumerate(lines) if "Traceback" in line or " ERROR " in line]
        assert not errors, "\n".join([replay, *lines[errors[0] : errors[0] + 40]])
        refusals = sum("closing the connection" in line for line in lines)
        # One line for each at most; one that was given up here as parked may be refused later there.
        assert 0 < refusals <= sender.closed + sender.parked, replay
        assert sender.answered > count // 10, f"most frames should get past the header; {replay}"
        assert broker.stop() == 0, replay


def test_hostile_frames(tmp_path: Path) -> None:
    attack(tmp_path, 3_000)


@pytest.mark.ci
def test_hostile_frames_40_000(tmp_path: Path) -> None:
    attack(tmp_path, 40_000)


@pytest.mark.long
def test_hostile_frames_1_000_000(tmp_path: Path) -> None:
    attack(tmp_path, 1_000_000)
