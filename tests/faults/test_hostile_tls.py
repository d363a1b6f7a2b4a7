"""Hostile clients of a TLS listener: other clients are served throughout, and memory stays bounded.

The neighbour sends requests to the PLAINTEXT listener of the same broker all the time, which the same event loop
serves.
"""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from support.brokers.free_ports import free_ports
from support.brokers.neighbour import Neighbour
from support.brokers.our_broker import OurBroker
from support.security.crafted_records import CraftedRecords, CraftingClient
from support.security.handshakes import End
from support.security.tls_files import TlsFiles, tls_files

pytestmark = pytest.mark.ci

LONGEST_CPU_MS = 50.0
MEMORY_MAX = 64 << 20
API_VERSIONS = bytes.fromhex("0000000e0012000000000001000462656e63")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return tls_files(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def secure_port() -> int:
    return free_ports(1)[0]


@pytest.fixture(scope="module")
def metrics_port() -> int:
    return free_ports(1)[0]


@pytest.fixture(scope="module")
def broker(
    files: TlsFiles, secure_port: int, metrics_port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OurBroker]:
    plain = free_ports(1)[0]
    configs = {
        "listeners": f"PLAINTEXT://127.0.0.1:{plain},SSL://127.0.0.1:{secure_port}",
        "odradek.connections.unauthenticated.max": "400",
        "odradek.metrics.listener": f"127.0.0.1:{metrics_port}",
        "odradek.metrics.ssl.enable": "true",
        **files.listener(client_auth="requested"),
    }
    started = OurBroker(tmp_path_factory.mktemp("broker"), configs)
    with started:
        started.port = plain
        yield started


@pytest.fixture(scope="module")
def trusting(files: TlsFiles) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=files.trust)


def open_connection(port: int) -> socket.socket:
    one = socket.create_connection(("127.0.0.1", port))
    one.settimeout(60)
    return one


def asked_over_tls(port: int, context: ssl.SSLContext) -> None:
    """Sends ApiVersions over TLS, as any client does first."""
    with context.wrap_socket(open_connection(port), server_hostname="localhost") as one:
        one.sendall(API_VERSIONS)
        size = struct.unpack(">i", one.recv(4))[0]
        assert 100 < size < 2_000


def client_hello(context: ssl.SSLContext) -> bytes:
    return End(context, "localhost").step()


def fair(neighbour: Neighbour) -> None:
    assert neighbour.seen.longest_cpu_ms < LONGEST_CPU_MS, neighbour.seen
    assert neighbour.seen.refused_heartbeats == 0
    assert neighbour.seen.memory_growth < MEMORY_MAX, neighbour.seen


def test_a_flood_of_half_handshakes(broker: OurBroker, secure_port: int, trusting: ssl.SSLContext) -> None:
    """2,000 clients start a handshake at once and never finish it."""
    hello = client_hello(trusting)
    with Neighbour(broker.port, broker.pid) as neighbour, contextlib.ExitStack() as opened:
        for _ in range(2_000):
            one = opened.enter_context(open_connection(secure_port))
            with contextlib.suppress(OSError):
                one.sendall(hello)
        asked_over_tls(secure_port, trusting)
    fair(neighbour)


def test_silent_dripping_and_announcing_clients(broker: OurBroker, secure_port: int, trusting: ssl.SSLContext) -> None:
    hello = client_hello(trusting)
    starts = [b"", hello[:1], hello[:5], hello[:-1], b"\x16\x03\x01\x3f\xff\x01", b"\x16\x03\x01\xff\xff", b"\x00" * 4]
    with Neighbour(broker.port, broker.pid) as neighbour, contextlib.ExitStack() as opened:
        held = []
        for number in range(300):
            one = opened.enter_context(open_connection(secure_port))
            with contextlib.suppress(OSError):
                one.sendall(starts[number % len(starts)])
            held.append(one)
        for _ in range(20):
            for one in held:
                with contextlib.suppress(OSError):
                    one.sendall(b"\x00")
        asked_over_tls(secure_port, trusting)
    fair(neighbour)


def test_large_frames_that_are_only_announced(broker: OurBroker, secure_port: int, trusting: ssl.SSLContext) -> None:
    """50 clients announce 100 MiB over TLS and send 12 bytes."""
    with Neighbour(broker.port, broker.pid) as neighbour, contextlib.ExitStack() as opened:
        for _ in range(50):
            one = trusting.wrap_socket(open_connection(secure_port), server_hostname="localhost")
            opened.enter_context(one)
            one.sendall(struct.pack(">i", 100 << 20) + b"\0" * 12)
        asked_over_tls(secure_port, trusting)
    fair(neighbour)


KIB = 1 << 10
ANNOUNCED = struct.pack(">i", 1 << 20)
"""The start of a request of 1 MiB: the bytes that follow are valid."""


def mixed(records: CraftedRecords) -> bytes:
    """Records of one byte, each after as many KeyUpdates as a client may send in a row."""
    content = ANNOUNCED + bytes(150)
    return b"".join(records.key_updates(31 * 27) + records.record(content[n : n + 1]) for n in range(len(content)))


TINY: dict[str, tuple[int, Callable[[CraftedRecords], bytes]]] = {
    "one connection sends 512 KiB of KeyUpdates": (1, lambda records: records.key_updates(512 * KIB)),
    "10 send 128 KiB of KeyUpdates": (10, lambda records: records.key_updates(128 * KIB)),
    "40 send 16 KiB of KeyUpdates that ask for one": (40, lambda records: records.key_updates(16 * KIB, True)),
    "4 send 128 KiB of both": (4, mixed),
    "100 send 64 KiB in records of one byte": (100, lambda records: records.data(ANNOUNCED + bytes(2_900), 1)),
}


@pytest.mark.parametrize("case", TINY)
def test_records_of_few_bytes(broker: OurBroker, secure_port: int, files: TlsFiles, case: str) -> None:
    """One turn of the event loop decrypts for 2 ms, whatever the records of all connections are."""
    count, make = TINY[case]
    clients = [CraftingClient(secure_port, files.trust) for _ in range(count)]
    sent = [make(client.records) for client in clients]
    with Neighbour(broker.port, broker.pid) as neighbour:
        _send_at_once(clients, sent)
        asked_over_tls(secure_port, ssl.create_default_context(cafile=files.trust))
    for client in clients:
        client.close()
    fair(neighbour)


def _send_at_once(clients: list[CraftingClient], sent: list[bytes]) -> None:
    def send(client: CraftingClient, data: bytes) -> None:
        with contextlib.suppress(OSError):  # the broker closes a connection that sends many KeyUpdates
            client.socket.sendall(data)

    threads = [threading.Thread(target=send, args=pair) for pair in zip(clients, sent, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def fragments(first: bytes) -> Callable[[], bytes]:
    return lambda: b"".join(b"\x16\x03\x01\x00\x01" + bytes([byte]) for byte in first + bytes(40_000))


BEFORE_KEYS: dict[str, Callable[[], bytes]] = {
    "a ClientHello in records of one byte": fragments(b"\x01\x00\xff\xff"),
    "a ClientHello of 100 KB in records of one byte": fragments(b"\x01\x01\x80\x00"),
    "ChangeCipherSpec without end": lambda: b"\x16\x03\x01\x00\x01\x01" + b"\x14\x03\x03\x00\x01\x01" * 40_000,
}


@pytest.mark.parametrize("case", BEFORE_KEYS)
def test_handshakes_in_records_of_one_byte(
    broker: OurBroker, secure_port: int, trusting: ssl.SSLContext, case: str
) -> None:
    sent = BEFORE_KEYS[case]()
    with Neighbour(broker.port, broker.pid) as neighbour, contextlib.ExitStack() as opened:
        for _ in range(100):
            one = opened.enter_context(open_connection(secure_port))
            one.setblocking(False)
            with contextlib.suppress(OSError):
                one.send(sent)
        asked_over_tls(secure_port, trusting)
    fair(neighbour)


def health(port: int, context: ssl.SSLContext) -> None:
    """Asks the metrics endpoint whether the broker lives."""
    with context.wrap_socket(open_connection(port), server_hostname="localhost") as one:
        one.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert one.recv(15) == b"HTTP/1.1 200 OK"


def test_half_handshakes_at_the_metrics(broker: OurBroker, metrics_port: int, trusting: ssl.SSLContext) -> None:
    """400 clients of the metrics start a handshake at once. The oldest of them lose their connections."""
    hello = client_hello(trusting)
    with Neighbour(broker.port, broker.pid) as neighbour, contextlib.ExitStack() as opened:
        for _ in range(5):
            some = [opened.enter_context(open_connection(metrics_port)) for _ in range(80)]
            for one in some:
                with contextlib.suppress(OSError):
                    one.sendall(hello)
        health(metrics_port, trusting)
    fair(neighbour)


def test_key_updates_at_the_metrics(broker: OurBroker, metrics_port: int, files: TlsFiles) -> None:
    clients = [CraftingClient(metrics_port, files.trust) for _ in range(10)]
    sent = [client.records.key_updates(64 * KIB) for client in clients]
    with Neighbour(broker.port, broker.pid) as neighbour:
        _send_at_once(clients, sent)
        health(metrics_port, ssl.create_default_context(cafile=files.trust))
    for client in clients:
        client.close()
    fair(neighbour)


@pytest.mark.parametrize("seed", range(4))
def test_random_bytes_at_any_point(broker: OurBroker, secure_port: int, trusting: ssl.SSLContext, seed: int) -> None:
    """For each seed, 500 connections send garbage at a random point of a TLS connection, and close it."""
    random = Random(seed)
    hello = client_hello(trusting)
    with Neighbour(broker.port, broker.pid) as neighbour:
        for _ in range(500):
            kind = random.randrange(4)
            with contextlib.suppress(OSError, ssl.SSLError):
                one = open_connection(secure_port)
                if kind == 0:
                    one.sendall(random.randbytes(random.randint(1, 3_000)))
                elif kind == 1:
                    one.sendall(hello[: random.randrange(len(hello))] + random.randbytes(random.randint(0, 300)))
                elif kind == 2:
                    mutated = bytearray(hello)
                    mutated[random.randrange(len(mutated))] ^= 1 << random.randrange(8)
                    one.sendall(mutated)
                else:
                    wrapped = trusting.wrap_socket(one, server_hostname="localhost")
                    wrapped.sendall(API_VERSIONS[: random.randrange(1, len(API_VERSIONS))])
                    one = socket.socket(fileno=wrapped.detach())
                    one.sendall(random.randbytes(random.randint(1, 500)))
                one.close()
        asked_over_tls(secure_port, trusting)
    fair(neighbour)


def test_the_log_says_little(broker: OurBroker, files: TlsFiles, tmp_path: Path) -> None:
    """All of the above leaves a log of bounded size, without a traceback."""
    log = broker.log()
    assert len(log) < 100_000
    assert "Traceback" not in log
