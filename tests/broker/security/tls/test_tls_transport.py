"""The TLS transport between a socket and a connection, driven without a socket.

A failing seed replays with ``-k "[seed]"``.
"""

import asyncio
import ssl
from pathlib import Path
from random import Random

import pytest

from odradek.broker.config.connection_limits import UNLIMITED, ConnectionLimits
from odradek.broker.metrics.request_meters import ApiMeter
from odradek.broker.network.connection import Connection
from odradek.broker.network.response_writer import CHUNK_BYTES
from odradek.broker.network.waiting import Waiting
from odradek.broker.security.tls.engine import EMPTY_RECORDS_MAX
from odradek.broker.security.tls.handshakes import TURN_S, HandshakeQueue
from odradek.broker.security.tls.transport import HANDSHAKE_MAX_BYTES, RECEIVE_BUFFER_BYTES
from odradek.protocol.security.tls_context import ServerTls, TlsSettings, client_context, server_tls
from odradek.testing.security.certificates import CertificateAuthority
from support.security.crafted_records import CraftedRecords, client_secret
from support.security.tls_connection import BrokerSide, TlsClient, assert_only_records
from support.security.tls_files import ALICE_PRINCIPAL, TlsFiles, tls_files

SEEDS = range(12)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return tls_files(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def tls(files: TlsFiles) -> ServerTls:
    return server_tls(TlsSettings(files.listener(client_auth="requested")))


def client(files: TlsFiles, **more: str) -> ssl.SSLContext:
    return client_context(TlsSettings({"ssl.truststore.location": files.trust, **more}))


def echo(connection: Connection, frame: memoryview, owned: bool) -> None:
    connection.answered([len(frame).to_bytes(4, "big") + bytes(frame)])


def framed(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


@pytest.mark.parametrize("seed", SEEDS)
async def test_frames_of_any_size_pass_in_pieces_of_any_size(files: TlsFiles, tls: ServerTls, seed: int) -> None:
    random = Random(seed)
    versions = {"ssl.enabled.protocols": random.choice(["TLSv1.2", "TLSv1.3"])}
    one = TlsClient(BrokerSide(tls, echo), client(files, **versions), random)
    await one.connect()
    expected = bytearray()
    for _ in range(random.randint(1, 30)):
        frame = framed(random.randbytes(random.choice([1, 10, 1000, 16_384, 40_000, 700_000])))
        one.write(frame)
        expected += frame
        if random.random() < 0.5:
            await one.turn()
    await one.until(lambda: len(one.received) >= len(expected))
    assert one.received == expected
    assert_only_records(one.socket.sent)


async def test_the_principal_is_the_name_in_the_certificate(files: TlsFiles, tls: ServerTls) -> None:
    side = BrokerSide(tls, echo)
    alice = TlsClient(side, client(files, **{"ssl.keystore.location": str(files.directory / "alice.pem")}))
    await alice.connect()
    assert alice.connection.principal == ALICE_PRINCIPAL
    anonymous = TlsClient(side, client(files))
    await anonymous.connect()
    assert anonymous.connection.principal == "User:ANONYMOUS"


async def test_a_name_without_a_rule_is_refused(
    files: TlsFiles, tls: ServerTls, caplog: pytest.LogCaptureFixture
) -> None:
    side = BrokerSide(tls, echo, lambda name: None)
    alice = TlsClient(side, client(files, **{"ssl.keystore.location": str(files.directory / "alice.pem")}))
    with pytest.raises(AssertionError):
        await alice.connect()
    assert alice.socket.is_closed
    assert "no rule of ssl.principal.mapping.rules matches" in caplog.text


async def test_a_connection_counts_from_its_accept_and_costs_no_engine(tls: ServerTls) -> None:
    side = BrokerSide(tls, echo)
    connection, transport, _ = side.accept()
    assert len(side.connections) == 1
    assert side.connections.unauthenticated is not None
    assert len(side.connections.unauthenticated) == 1
    assert transport._engine is None
    transport.connection_lost(None)
    assert len(side.connections) == 0
    assert len(side.connections.unauthenticated) == 0
    assert connection.is_closing


async def test_at_the_limit_of_an_address_a_connection_is_broken(tls: ServerTls) -> None:
    side = BrokerSide(tls, echo)
    unlimited = ConnectionLimits(UNLIMITED, UNLIMITED)
    side.connections.quotas.limit(
        unlimited, {}, protected=None, max_connections_per_ip=1, max_connections_per_ip_overrides={}
    )
    side.accept()
    _, _, socket = side.accept()
    assert socket.is_aborted
    assert len(side.connections) == 1


NOT_TLS = [
    (b"\0\0\0\x20\0\x12\0\x03\0\0\0\1", "its first bytes are not TLS"),
    (b"GET / HTTP/1.1\r\n\r\n", "HTTP request"),
    (b"\0", "its first bytes are not TLS"),
    (b"\x16\x03\x01\xff\xff" + b"x" * 100, "its TLS handshake failed"),
    (b"\x16\x03\x01\x00\x04\x09\x00\x00\x00", "its TLS handshake failed"),
    (b"\x16" * 2000, "its TLS handshake failed"),
]


@pytest.mark.parametrize(("first", "reason"), NOT_TLS)
async def test_other_protocols_and_garbage_are_refused(
    tls: ServerTls, first: bytes, reason: str, caplog: pytest.LogCaptureFixture, files: TlsFiles
) -> None:
    side = BrokerSide(tls, echo)
    one = TlsClient(side, client(files))
    one.put(first)
    await one.until(lambda: one.socket.is_closed)
    assert reason in caplog.text
    assert len(caplog.records) == 1
    other = TlsClient(side, client(files))
    await other.connect()


async def test_a_client_that_is_not_trusted_gets_an_alert(files: TlsFiles, tls: ServerTls, tmp_path: Path) -> None:
    mallory = CertificateAuthority("elsewhere").issue("mallory").write_pem(tmp_path / "mallory.pem")
    for version, alert in (("TLSv1.2", "UNKNOWN_CA"), ("TLSv1.3", "UNKNOWN_CA")):
        context = client(files, **{"ssl.keystore.location": str(mallory), "ssl.enabled.protocols": version})
        one = TlsClient(BrokerSide(tls, echo), context)
        with pytest.raises(ssl.SSLError, match=alert):
            await one.connect()
        assert one.socket.is_closed
        assert not one.connection.is_authenticated


async def test_the_bytes_of_handshakes_share_a_budget(tls: ServerTls, caplog: pytest.LogCaptureFixture) -> None:
    """The budget of :class:`BrokerSide` is 200,000 bytes for all connections that have not authenticated."""
    side = BrokerSide(tls, echo)
    limits = side.connections.unauthenticated
    assert limits is not None
    begun = b"\x16\x03\x01\x3f\xff\x01\x00\x3f\xfb" + bytes(40_000)
    flood = [side.accept() for _ in range(5)]
    _, lonely, _ = side.accept("10.0.0.2")
    for transport in (lonely, *(one for _, one, _ in flood)):
        transport.get_buffer(-1)[: len(begun)] = begun
        transport.buffer_updated(len(begun))
    assert limits.held_bytes <= 200_000
    assert [connection.is_closing for connection, _, _ in flood].count(True) == 2
    assert not lonely.is_closing()
    assert "odradek.connections.unauthenticated.max.bytes=200000" in caplog.text


async def test_a_handshake_is_bounded(tls: ServerTls, files: TlsFiles, caplog: pytest.LogCaptureFixture) -> None:
    one = TlsClient(BrokerSide(tls, echo), client(files))
    one.put(b"\x16\x03\x01\x3f\xff\x01\x00\x00\x00" + b"\x00" * 20)  # a record of 16 KiB begins
    await one.turn()
    assert not one.socket.is_closing()
    one.arrive(b"\0" * (HANDSHAKE_MAX_BYTES + 1))
    await one.until(one.socket.is_closing)


@pytest.mark.parametrize("records", [b"\x17\x03\x03\xff\xff", b"\x17\x03\x03\x00\x40" + b"x" * 64, b"\x99" * 50])
async def test_bad_records_after_the_handshake_close_the_connection(
    files: TlsFiles, tls: ServerTls, records: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    one = TlsClient(BrokerSide(tls, echo), client(files))
    await one.connect()
    one.put(records + b"\0" * 5)
    with pytest.raises(ssl.SSLError, match="ALERT"):
        await one.until(lambda: False)
    assert one.socket.is_closed
    assert "on listener SSL: TLS: " in caplog.text
    assert_only_records(one.socket.sent)


async def test_both_sides_say_that_they_close(files: TlsFiles, tls: ServerTls) -> None:
    one = TlsClient(BrokerSide(tls, echo), client(files))
    await one.connect()
    one.connection.close()
    assert one.socket.is_closed
    one.end.incoming.write(bytes(one.socket.sent[one._taken :]))
    assert one.end.object.read(1) == b""  # close_notify
    other = TlsClient(BrokerSide(tls, echo), client(files))
    await other.connect()
    with pytest.raises(ssl.SSLWantReadError):
        other.end.object.unwrap()
    other.put(other.end.outgoing.read())
    await other.until(lambda: other.socket.is_closed)


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_connection_in_service_pauses_the_socket_and_loses_nothing(
    files: TlsFiles, tls: ServerTls, seed: int
) -> None:
    random = Random(seed)
    served: list[bytes] = []
    waiting: list[Connection] = []

    def serve_later(connection: Connection, frame: memoryview, owned: bool) -> None:
        served.append(bytes(frame))
        waiting.append(connection)

    one = TlsClient(BrokerSide(tls, serve_later), client(files), random)
    await one.connect()
    frames = [random.randbytes(random.choice([10, 5_000, 90_000])) for _ in range(40)]
    for frame in frames:
        one.write(framed(frame))
    for _ in range(2_000):
        await one.turn()
        assert len(one.transport._left) <= RECEIVE_BUFFER_BYTES
    assert not one.socket.is_reading
    assert served == frames[:1]
    while len(served) < len(frames):
        if waiting:
            waiting.pop().answered(None)
        await one.turn()
    assert served == frames
    assert one.socket.is_reading


async def test_the_wait_of_an_answer_for_its_reader_is_measured(files: TlsFiles, tls: ServerTls) -> None:
    now_ns, meter = 1, ApiMeter("Echo")
    waiting = Waiting(lambda: now_ns)

    def serve(connection: Connection, frame: memoryview, owned: bool) -> None:
        waiting.answering = meter
        meter.served.note(0)
        connection.answered([bytes(8 * CHUNK_BYTES)])

    side = BrokerSide(tls, serve)
    side.connections.waiting = waiting
    one = TlsClient(side, client(files))
    await one.connect()
    one.socket.read_slowly()
    one.write(framed(b"a request"))
    await one.until(lambda: one.connection.is_sending)
    now_ns += 12_000_000
    while one.connection.is_sending:
        one.socket.catch_up()
        await one.turn()
    assert (meter.response_send.count, meter.response_send.ns) == (1, 12_000_000)


async def test_a_slow_reader_holds_a_bounded_answer_and_is_not_read(files: TlsFiles, tls: ServerTls) -> None:
    answer = b"a" * 3_000_000

    def serve(connection: Connection, frame: memoryview, owned: bool) -> None:
        connection.answered([answer])

    one = TlsClient(BrokerSide(tls, serve), client(files))
    await one.connect()
    one.socket.read_slowly()
    one.write(framed(b"x"))
    await one.turn()
    assert one.socket.unsent_bytes < 600_000
    assert not one.socket.is_reading
    while len(one.received) < len(answer):
        one.socket.catch_up()
        await one.turn()
    assert one.received == answer


@pytest.mark.parametrize("seed", range(150))
async def test_mutated_records_end_only_their_own_connection(files: TlsFiles, tls: ServerTls, seed: int) -> None:
    random = Random(seed)
    side = BrokerSide(tls, echo)
    good = TlsClient(side, client(files), random)
    await good.connect()
    bad = TlsClient(side, client(files))
    if random.random() < 0.7:
        await bad.connect()
        bad.write(framed(random.randbytes(random.choice([10, 40_000]))))
    else:
        bad.put(bad.end.step())
    way = bad._on_way
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(way))
        kind = random.randrange(4)
        if kind == 0:
            way[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            del way[at : at + random.randint(1, 50)]
        elif kind == 2:
            way[at:at] = random.randbytes(random.randint(1, 50))
        else:
            way += random.randbytes(random.randint(1, 500))
        if not way:
            break
    for _ in range(5):
        if bad.socket.is_closing():
            break
        try:
            await bad.turn()
        except ssl.SSLError:
            break  # the alert as the client reports it
    bad.transport.connection_lost(None)
    good.write(framed(b"still there"))
    await good.until(lambda: good.received == framed(b"still there"))
    assert_only_records(bad.socket.sent)
    assert len(side.connections) == 1


async def test_a_step_that_raises_leaves_the_other_handshakes() -> None:
    done: list[str] = []

    class Broken:
        def continue_handshake(self) -> None:
            raise RuntimeError("a fault of ours")

    class Fine:
        def continue_handshake(self) -> None:
            done.append("fine")

    queue = HandshakeQueue(lambda: 0.0)
    queue.put(Broken())
    queue.put(Fine())
    with pytest.raises(RuntimeError):
        queue.run_some()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert done == ["fine"]
    assert len(queue) == 0


async def test_a_turn_takes_a_few_handshakes_and_leaves_the_rest() -> None:
    now = 0.0
    steps: list[int] = []

    class Step:
        def __init__(self, number: int) -> None:
            self._number = number

        def continue_handshake(self) -> None:
            nonlocal now
            now += TURN_S * 0.6
            steps.append(self._number)

    queue = HandshakeQueue(lambda: now)
    for number in range(5):
        queue.put(Step(number))
    queue.run_some()
    assert steps == [0, 1]
    queue.run_some()
    assert steps == [0, 1, 2, 3]
    queue.run_some()
    assert steps == [0, 1, 2, 3, 4]
    assert len(queue) == 0


async def test_a_client_that_sends_records_without_data_is_closed(
    files: TlsFiles, tls: ServerTls, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """KeyUpdates are valid TLS. 32 in a row may come, then data must."""
    context = client(files, **{"ssl.enabled.protocols": "TLSv1.3"})
    context.keylog_filename = str(tmp_path / "keys")
    one = TlsClient(BrokerSide(tls, echo), context)
    await one.connect()
    suite = one.end.object.cipher()
    assert suite is not None
    records = CraftedRecords(suite[0], client_secret((tmp_path / "keys").read_text()))
    for _ in range(3):
        one.put(records.key_updates(EMPTY_RECORDS_MAX * 27))
        one.put(records.record(framed(b"hello")))
    await one.until(lambda: one.received == framed(b"hello") * 3)
    one.put(records.key_updates(2 * EMPTY_RECORDS_MAX * 27))
    await one.until(lambda: one.socket.is_closed)
    assert "more than 32 TLS records without data" in caplog.text
