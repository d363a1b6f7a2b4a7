"""Random and mutated frames to a running broker: it keeps serving, and its memory does not grow.

They are sent to a listener without SASL, to one with SASL before a login, and on authenticated connections. The seed
is printed with a failure; ``FAULTS_SEED=<seed>`` sends the same frames again. Half of the frames that reach requests go
to a broker with lanes, the other half to one without.
"""

import asyncio
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from faults.hostile_frames import hostile_frame
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request
from odradek.protocol.framing.frames import SIZE
from odradek.protocol.messages.metadata import ApiVersionsRequest, ApiVersionsResponse
from odradek.protocol.messages.security import SaslAuthenticateRequest, SaslHandshakeRequest
from support.brokers.our_broker import OurBroker, resident_bytes

MAX_GROWTH_BYTES = 50 * 1024 * 1024
CONNECTIONS = 64
PATIENCE_S = 120.0
PROBE_ID = 0x70726F62
ANSWER_WITHIN_S = 0.1
"""A request without an answer after this time counts as parked (a waiting Fetch, a JoinGroup) if the broker answered
other clients later. Then the connection is closed, and the test continues."""
LATER_ANSWERS = 5
"""How many later requests must be answered: on a busy machine, time alone says little."""
FRAMES_BETWEEN_CHECKS = 2_000
OPEN, BEFORE_LOGIN, LOGGED_IN = "open", "before-login", "logged-in"
LANES = "odradek.request.lanes.enable"
LANES_ON_AND_OFF = [(OPEN, "true"), (OPEN, "false"), (BEFORE_LOGIN, "true"), (LOGGED_IN, "true"), (LOGGED_IN, "false")]
"""What is attacked, and whether that broker has lanes. Before a login no lane is reached."""
BROKER = {
    "listeners": "PLAINTEXT://127.0.0.1:0,USERS://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,USERS:SASL_PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.users.plain.sasl.jaas.config": (
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="x";'
    ),
    "connection.failed.authentication.delay.ms": "1",
    "group.initial.rebalance.delay.ms": "0",
}
LOGIN = encode_request(SaslHandshakeRequest("PLAIN"), 1, 1, "") + encode_request(
    SaslAuthenticateRequest(b"\0alice\0x"), 2, 2, ""
)


class Attack:
    """Sends frames over many connections; counts the connections that the broker closed."""

    def __init__(self, broker: OurBroker, seed: int, kind: str) -> None:
        """``kind``: OPEN, BEFORE_LOGIN or LOGGED_IN."""
        self._port = broker.port if kind == OPEN else broker.ports()["USERS"]
        self._honest_port = broker.port
        self._seed = seed
        self._login = LOGIN if kind == LOGGED_IN else b""
        self.closed = 0
        self.parked = 0
        self.answered = 0

    async def send(self, numbers: range) -> None:
        """Sends the frames of these numbers; returns when each was answered, refused or left waiting."""
        waiting = iter(numbers)
        await asyncio.gather(*(self._worker(waiting) for _ in range(CONNECTIONS)))

    async def _worker(self, numbers: Iterator[int]) -> None:
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        probe = encode_request(ApiVersionsRequest(), 0, PROBE_ID, "probe")
        for number in numbers:
            if streams is None:
                streams = await self._connected()
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

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        if self._login:
            writer.write(self._login)
            for _ in range(2):
                (size,) = SIZE.unpack(await reader.readexactly(4))
                assert (await reader.readexactly(size))[4:6] == b"\0\0", "an honest login fails"
        return reader, writer

    async def _is_answered(self, reader: asyncio.StreamReader) -> bool:
        """Whether the probe is answered. False if some later requests were answered, and some time has passed."""
        reading = asyncio.ensure_future(self._read_probe(reader))
        await asyncio.wait([reading], timeout=ANSWER_WITHIN_S)
        for _ in range(LATER_ANSWERS):
            if not reading.done():
                await self._ask_from_elsewhere()
                await asyncio.wait([reading], timeout=ANSWER_WITHIN_S / LATER_ANSWERS)
        if not reading.done():
            reading.cancel()
            return False
        reading.result()
        return True

    async def _ask_from_elsewhere(self) -> None:
        """Sends a valid request on another connection and waits for the answer without a time limit."""
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", self._honest_port)
            writer.write(encode_request(ApiVersionsRequest(), 0, PROBE_ID, "honest"))
            await self._read_probe(reader)
            writer.close()

    async def _read_probe(self, reader: asyncio.StreamReader) -> None:
        """Reads answers up to the probe's. Then all earlier frames were handled."""
        while True:
            (size,) = SIZE.unpack(await reader.readexactly(4))
            answer = await reader.readexactly(size)
            if int.from_bytes(answer[:4]) == PROBE_ID:
                response, _ = decode(ApiVersionsResponse, 0, answer, 4)
                if response.error_code == 0 and response.api_keys:
                    return


def check_that_it_serves(broker: OurBroker, round_number: int) -> None:
    """Asserts that a well-behaved client can produce a record and read it."""
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


def attack(directory: Path, count: int, kind: str, lanes: str) -> None:
    seed = int(os.environ.get("FAULTS_SEED") or random.SystemRandom().randrange(1 << 32))
    replay = f"FAULTS_SEED={seed} replays it"
    with OurBroker(directory, BROKER | {LANES: lanes}) as broker:
        check_that_it_serves(broker, 0)
        before = resident_bytes(broker.pid)
        sender = Attack(broker, seed, kind)
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
        # At most one line for each. A frame that is regarded as waiting here may be refused later by the broker.
        assert 0 < refusals <= sender.closed + sender.parked, replay
        if kind != BEFORE_LOGIN:  # almost every frame is the last one there
            assert sender.answered > count // 10, f"most frames should get past the header; {replay}"
        assert broker.stop() == 0, replay


@pytest.mark.parametrize(("kind", "lanes"), LANES_ON_AND_OFF)
def test_hostile_frames(tmp_path: Path, kind: str, lanes: str) -> None:
    attack(tmp_path, {OPEN: 300, BEFORE_LOGIN: 200, LOGGED_IN: 150}[kind], kind, lanes)


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "lanes"), LANES_ON_AND_OFF)
def test_many_hostile_frames(tmp_path: Path, kind: str, lanes: str) -> None:
    attack(tmp_path, {OPEN: 3_000, BEFORE_LOGIN: 1_500, LOGGED_IN: 2_000}[kind], kind, lanes)


@pytest.mark.long
@pytest.mark.parametrize(("kind", "lanes"), LANES_ON_AND_OFF)
def test_hostile_frames_in_full(tmp_path: Path, kind: str, lanes: str) -> None:
    attack(tmp_path, {OPEN: 500_000, BEFORE_LOGIN: 100_000, LOGGED_IN: 50_000}[kind], kind, lanes)
