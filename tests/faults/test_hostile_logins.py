"""Hostile clients of SASL listeners, before and after their login: others are served, and the log stays correct and
small.

The neighbour sends requests to the PLAINTEXT listener of the same broker all the time, which the same event loop
serves. The table of docs/security.md lists the attacks; ``test_hostile_tls.py`` and ``test_hostile_frames.py`` have the
others.
"""

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.security import SaslAuthenticateRequest, SaslHandshakeRequest
from odradek.protocol.messages.topics import CreateTopicsRequest
from support.brokers.neighbour import Neighbour
from support.brokers.our_broker import OurBroker
from support.brokers.sasl_line import LoginFailed, SaslLine

pytestmark = pytest.mark.ci

LONGEST_CPU_MS = 50.0
MEMORY_MAX = 32 << 20
TIMEOUT_MS = 1_500
MODULES = "org.apache.kafka.common.security"
SECRET, GUESS = "the-right-password", "a-guessed-password"
CONFIG = {
    "listeners": "PLAINTEXT://127.0.0.1:0,USERS://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,USERS:SASL_PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.users.plain.sasl.jaas.config": f'{MODULES}.plain.PlainLoginModule required user_alice="{SECRET}";',
    "listener.name.users.scram-sha-256.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
    "connection.failed.authentication.delay.ms": "1",
    "odradek.connection.authentication.timeout.ms": str(TIMEOUT_MS),
}
FORGED = "x\n2026-01-01 00:00:00 ERROR forged\r\n\x1b[2J\x00"


class TalkativeBroker(OurBroker):
    """A broker that logs at level DEBUG."""

    program = ("-m", "odradek", "serve", "--log-level", "debug")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    with TalkativeBroker(tmp_path_factory.mktemp("logins"), CONFIG) as started:
        yield started


def users(broker: OurBroker) -> int:
    return broker.ports()["USERS"]


def fair(neighbour: Neighbour) -> None:
    assert neighbour.seen.longest_cpu_ms < LONGEST_CPU_MS, neighbour.seen
    assert neighbour.seen.refused_heartbeats == 0
    assert neighbour.seen.memory_growth < MEMORY_MAX, neighbour.seen


def test_large_frames_that_are_only_announced(broker: OurBroker) -> None:
    """20 authenticated clients announce 100 MiB and send 12 bytes. Before a login this closes the connection."""
    announced = struct.pack(">i", 100 << 20) + bytes(12)
    with Neighbour(broker.port, broker.pid) as neighbour, ExitStack() as opened:
        for _ in range(20):
            line = SaslLine(users(broker)).plain("alice", SECRET)
            opened.callback(line.close)
            line.socket.sendall(announced)
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", users(broker)), timeout=60) as stranger:
                stranger.sendall(announced)
                with suppress(ConnectionResetError):
                    assert stranger.recv(1) == b""
        SaslLine(users(broker)).plain("alice", SECRET).close()
    fair(neighbour)


def test_silent_and_dripping_clients_are_closed_in_time(broker: OurBroker) -> None:
    """100 clients send nothing, or occasionally a byte. An authenticated one stays connected."""
    handshake = encode_request(SaslHandshakeRequest("PLAIN"), 1, 1, "")
    with Neighbour(broker.port, broker.pid) as neighbour, ExitStack() as opened:
        stays = SaslLine(users(broker)).plain("alice", SECRET)
        opened.callback(stays.close)
        held = [
            opened.enter_context(socket.create_connection(("127.0.0.1", users(broker)), timeout=60)) for _ in range(100)
        ]
        for one in held[::2]:
            one.sendall(handshake[:5])
        for one in held:
            with suppress(ConnectionResetError):
                assert one.recv(1) == b""
        assert stays.ask(MetadataRequest([]), 12).brokers
    fair(neighbour)


def test_a_flood_of_wrong_passwords(broker: OurBroker) -> None:
    """300 logins fail from one address, in both mechanisms; another address logs in at once."""
    with Neighbour(broker.port, broker.pid) as neighbour, ExitStack() as opened:
        for number in range(300):
            line = SaslLine(users(broker), "127.0.0.66")
            opened.callback(line.close)
            name, token = ("PLAIN", b"\0alice\0" + GUESS.encode()) if number % 2 else ("SCRAM-SHA-256", b"n,,n=x")
            line.socket.sendall(encode_request(SaslHandshakeRequest(name), 1, 1, ""))
            line.socket.sendall(encode_request(SaslAuthenticateRequest(token), 2, 2, ""))
        SaslLine(users(broker)).plain("alice", SECRET).close()
    fair(neighbour)


def _log_in(line: SaslLine, mechanism: str, token: str) -> None:
    line.begin(mechanism)
    line.token(token.encode())


def test_names_forge_no_line_of_the_log(broker: OurBroker) -> None:
    """Newlines and control characters in a client id, a user, a mechanism and a topic."""
    for mechanism, user in (("PLAIN", FORGED.replace("\0", "")), (FORGED, "alice")):
        line = SaslLine(users(broker), "127.0.0.67")
        with pytest.raises((LoginFailed, EOFError)):
            _log_in(line, mechanism, f"\0{user}\0{GUESS}")
        line.close()
    line = SaslLine(users(broker)).plain("alice", SECRET)
    named = [CreateTopicsRequest.CreatableTopic(name, 1, 1) for name in (FORGED, "../x", "a\0b", "..", "a/b")]
    assert [one.error_code for one in line.ask(CreateTopicsRequest(named, 30_000), 7).topics] == [17] * len(named)
    bad = encode_request(MetadataRequest([]), 12, 7, FORGED)
    line.socket.sendall(struct.pack(">i", len(bad) - 5) + bad[4:-1])
    with suppress(ConnectionResetError):
        assert line.socket.recv(1) == b""
    line.close()
    log = broker.log()
    assert not [one for one in log.splitlines() if one.startswith("2026-01-01")]
    assert "\x1b" not in log
    assert "\0" not in log


def test_the_log_is_small_and_shows_no_secret(broker: OurBroker) -> None:
    """After all of the above, at level DEBUG."""
    log = broker.log()
    assert len(log) < 200_000
    assert not [text for text in (SECRET, GUESS, "Traceback", " ERROR ") if text in log.replace(repr(FORGED)[1:-1], "")]
    assert not list(Path(broker.log_dir).glob("**/x*"))
