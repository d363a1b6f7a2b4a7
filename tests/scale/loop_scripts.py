"""Scripts of hostile clients, for a search of those that hold the broker's event loop for the longest time.

A script is a list of actions that JSON can hold, so that a find is a line to replay. Each action opens connections of a
kind and sends something over all of them at once: raw bytes before TLS, half handshakes, crafted TLS records, requests
of every API before and after a login, SASL messages, HTTP. The bytes depend only on the action.
"""

import contextlib
import random
import select
import socket
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from odradek.broker.dispatch.served import SERVED, served_versions
from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.security import SaslAuthenticateRequest, SaslHandshakeRequest
from odradek.protocol.messages.structure import Structure
from support.brokers.sasl_line import SaslLine
from support.data.messages import MessageGenerator
from support.security.crafted_records import CraftingClient

Action = tuple[str, str, int, int, int]
"""Where to, what, connections, size, seed."""
Script = tuple[Action, ...]

PLACES = ("plain", "tls", "tls-logged-in", "sasl", "sasl-logged-in", "metrics")
SENT: dict[str, tuple[str, ...]] = {
    "plain": ("requests", "one-api", "wide", "bytes", "announced", "empty", "reads-nothing"),
    "tls": ("bytes", "hello", "hello-in-bytes", "change-cipher", "warnings"),
    "tls-logged-in": ("key-updates", "tiny-data", "mixed", "padded", "records-of-requests", "in-one-write"),
    "sasl": ("bytes", "scram", "scram-long", "plain-wrong", "handshakes", "versions", "requests", "empty"),
    "sasl-logged-in": ("requests", "one-api", "wide", "again"),
    "metrics": ("http", "http-long", "hello", "key-updates", "bytes"),
}
MOST_CONNECTIONS = 100
MOST_BYTES = 1 << 20
"""The most bytes of a connection."""
SEND_S = 1.0
"""How long a script's connections may take to send and to be answered."""
NAMES = ("a", "b", "topic", "group", "member", "", "x" * 200)
PASSWORD = "the-password"


@dataclass
class Target:
    """The broker's ports, and what a client needs."""

    ports: dict[str, int]
    trust: str
    hello: bytes
    """The first bytes of a TLS connection."""
    sockets: list[socket.socket] = field(default_factory=list)

    def open(self, place: str) -> socket.socket:
        """A connection to a listener."""
        port = self.ports[place.removesuffix("-logged-in")]
        return self.keep(socket.create_connection(("127.0.0.1", port), timeout=20))

    def keep(self, one: socket.socket) -> socket.socket:
        """Keeps a connection until the end of the script."""
        self.sockets.append(one)
        return one

    def close(self) -> None:
        """Closes all connections."""
        while self.sockets:
            self.sockets.pop().close()


def random_action(rng: random.Random) -> Action:
    """A new action."""
    place = rng.choice(PLACES)
    what = rng.choice(SENT[place])
    return place, what, rng.choice((1, 1, 4, 20, MOST_CONNECTIONS)), 1 << rng.randrange(6, 21), rng.getrandbits(20)


def mutated(script: Script, other: Script, rng: random.Random) -> Script:
    """A changed script: an action more, less, twice, changed, moved, or the end of another script."""
    actions = list(script)
    at = rng.randrange(len(actions))
    place, what, count, size, seed = actions[at]
    match rng.randrange(8):
        case 0:
            actions.insert(at, random_action(rng))
        case 1 if len(actions) > 1:
            del actions[at]
        case 2:
            actions.insert(at, actions[at])
        case 3:
            actions[at] = place, what, max(1, min(MOST_CONNECTIONS, int(count * rng.choice((0.5, 2, 4))))), size, seed
        case 4:
            actions[at] = place, what, count, max(1, min(MOST_BYTES, int(size * rng.choice((0.3, 0.7, 2, 4))))), seed
        case 5:
            actions[at] = place, what, count, size, rng.getrandbits(20)
        case 6:
            actions = [*actions[:at], *other[rng.randrange(len(other)) :]]
        case _:
            rng.shuffle(actions)
    return tuple(actions[:8]) or (random_action(rng),)


def play(script: Script, target: Target) -> None:
    """Runs a script, and waits until the broker has read what it wants to read."""
    try:
        prepared: list[tuple[socket.socket, bytes, bool]] = []
        for place, what, count, size, seed in script:
            for number in range(min(count, MOST_CONNECTIONS)):
                made = _prepare(target, place, what, min(size, MOST_BYTES), random.Random(f"{seed} {number}"))
                if made is not None:
                    prepared.append((*made, what != "reads-nothing"))
        _send_all(prepared)
    finally:
        target.close()


def _send_all(prepared: Sequence[tuple[socket.socket, bytes, bool]]) -> None:
    """Sends to all connections at once; reads and drops the answers."""
    left = {}
    for one, data, reads in prepared:
        one.setblocking(False)
        left[one] = memoryview(data), reads
    until = time.monotonic() + SEND_S
    while left and time.monotonic() < until:
        writing = [one for one, (data, _) in left.items() if data]
        readable, writable, _ = select.select([one for one, (_, reads) in left.items() if reads], writing, [], 0.02)
        if not readable and not writable and not writing:
            return  # everything is sent, and nothing was answered for 20 ms
        for one in writable:
            unsent, reads = left[one]
            try:
                left[one] = unsent[one.send(unsent) :], reads
            except BlockingIOError:
                continue
            except OSError:
                del left[one]
        for one in readable:
            with contextlib.suppress(BlockingIOError):
                try:
                    if not one.recv(1 << 18):
                        left.pop(one, None)
                except ConnectionError:
                    left.pop(one, None)


def _prepare(
    target: Target, place: str, what: str, size: int, rng: random.Random
) -> tuple[socket.socket, bytes] | None:
    """Opens a connection, and logs in if the place says so. Returns it with the bytes to send."""
    try:
        if place == "tls-logged-in" or (place == "metrics" and what == "key-updates"):
            client = CraftingClient(target.ports["metrics" if place == "metrics" else "tls"], target.trust)
            target.keep(client.socket)
            return client.socket, _records(client, what, size, rng)
        if place == "sasl-logged-in":
            line = SaslLine(target.ports["sasl"]).plain("alice", PASSWORD)
            return target.keep(line.socket), BYTES[what](size, rng)
        data = target.hello if what == "hello" else BYTES[what](size, rng)
        return target.open(place), data
    except (OSError, EOFError):  # the broker refuses more connections, or is still busy with the last script
        return None


def _records(client: CraftingClient, what: str, size: int, rng: random.Random) -> bytes:
    records = client.records
    size = min(size, 1 << 17)  # crafting takes 5 to 50 us for a record
    content = BYTES["announced"](size, rng)
    if what == "key-updates":
        return records.key_updates(size, rng.random() < 0.5)
    if what == "tiny-data":
        return records.data(content[: size // 23 + 1], rng.choice((1, 1, 2, 5)))
    if what == "padded":
        return b"".join(records.record(content[n : n + 1], padding=rng.choice((0, 16_000))) for n in range(size // 800))
    if what == "mixed":
        run = rng.choice((1, 8, 31))
        return b"".join(
            records.key_updates(run * 27) + records.record(content[n : n + 1])
            for n in range(size // (run * 27 + 23) + 1)
        )
    requests = _requests(size, rng)
    return records.data(requests, rng.choice((10, 100, 1000, 16_000)) if what == "records-of-requests" else 16_000)


class _Few(MessageGenerator):
    def _string(self) -> str:
        return self._rng.choice(NAMES) if self._rng.random() < 0.9 else super()._string()


def _request(rng: random.Random, key: int) -> bytes:
    version = rng.randint(*served_versions(key))
    return encode_request(_Few(rng).message(api(key).request_class(), version), version, 1, "fuzz")


def _requests(size: int, rng: random.Random) -> bytes:
    """Requests of any API."""
    made = b""
    while len(made) < size:
        made += _request(rng, rng.choice(sorted(SERVED)))
    return made


def _one_api(size: int, rng: random.Random) -> bytes:
    """The same request again and again."""
    one = _request(rng, rng.choice(sorted(SERVED)))
    return one * max(1, size // len(one))


def _wide(size: int, rng: random.Random) -> bytes:
    """One request whose arrays have as many elements as there is room for, again and again."""
    key = rng.choice(sorted(SERVED.keys() - {ApiKey.PRODUCE}))
    version = rng.randint(*served_versions(key))
    message = _Few(rng, unknown_tags=False).message(api(key).request_class(), version)
    most = rng.choice((size, 15_000, 4_000))
    for name in message.__slots__ if hasattr(message, "__slots__") else vars(message):
        value = getattr(message, name)
        if isinstance(value, list) and value:
            per_element = 60 if isinstance(value[0], Structure) else 8
            setattr(message, name, (value * (most // per_element // len(value) + 1))[: max(1, most // per_element)])
    frame = encode_request(message, version, 1, "fuzz")
    return frame * max(1, size // len(frame)) if len(frame) <= MOST_BYTES else frame[:MOST_BYTES]


def _sasl(tokens: Callable[[int, random.Random], bytes], mechanism: str) -> Callable[[int, random.Random], bytes]:
    def made(size: int, rng: random.Random) -> bytes:
        handshake = encode_request(SaslHandshakeRequest(mechanism), 1, 1, "")
        return handshake + encode_request(SaslAuthenticateRequest(tokens(size, rng)), 2, 2, "")

    return made


BYTES: dict[str, Callable[[int, random.Random], bytes]] = {
    "requests": _requests,
    "one-api": _one_api,
    "wide": _wide,
    "reads-nothing": _one_api,
    "bytes": lambda size, rng: rng.randbytes(min(size, 1 << 14)),
    "announced": lambda size, rng: struct.pack(">i", 1 << 20) + bytes(min(size, MOST_BYTES - 4)),
    "empty": lambda size, rng: bytes(size),
    "hello-in-bytes": lambda size, rng: b"".join(
        b"\x16\x03\x01\x00\x01" + bytes([byte]) for byte in b"\x01\x00\xff\xff" + bytes(size // 6)
    ),
    "change-cipher": lambda size, rng: b"\x16\x03\x01\x00\x01\x01" + b"\x14\x03\x03\x00\x01\x01" * (size // 6),
    "warnings": lambda size, rng: b"\x16\x03\x01\x00\x01\x01" + b"\x15\x03\x03\x00\x02\x01\x5a" * (size // 7),
    "scram": _sasl(lambda size, rng: f"n,,n=user-{rng.getrandbits(10)},r=abc".encode(), "SCRAM-SHA-512"),
    "scram-long": _sasl(lambda size, rng: b"n,,n=" + b"=2C" * min(size // 3, 5_000) + b",r=abc", "SCRAM-SHA-256"),
    "plain-wrong": _sasl(lambda size, rng: b"\0alice\0" + b"x" * min(size, 10_000), "PLAIN"),
    "handshakes": lambda size, rng: encode_request(SaslHandshakeRequest("x" * 50), 1, 1, "") * max(1, size // 70),
    "versions": lambda size, rng: _request(rng, ApiKey.API_VERSIONS) * max(1, size // 40),
    "again": _sasl(lambda size, rng: b"\0alice\0" + PASSWORD.encode(), "PLAIN"),
    "http": lambda size, rng: rng.choice((b"GET /metrics HTTP/1.1\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n", b"\r\n" * 100)),
    "http-long": lambda size, rng: b"GET /" + b"a" * min(size, 1 << 16),
}
