"""`make bench-tls`: TLS of ours and of a real Kafka in turn: throughput, processor time, handshakes, memory.

The same PEM files (P-256), the same client, rounds that alternate; the median of the rounds is shown. Plaintext
of both is measured in the same run, so that the cost of TLS can be seen. ``--document FILE`` writes the table between
its marks.
"""

import argparse
import socket
import ssl
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

import brokers
from brokers import Running
from odradek.testing.security.certificates import CertificateAuthority
from support.brokers.free_ports import free_port
from support.kafka.java import kafka_libs

BEGIN, END = "<!-- tls: begin -->", "<!-- tls: end -->"
BATCH = 1_000_000
VALUE = 100_000
Figures = dict[str, float]


def write_files(directory: Path) -> tuple[dict[str, str], str]:
    """The broker's keys for TLS, and the path of the client's trust store."""
    authority = CertificateAuthority()
    trust = authority.write_pem(directory / "trust.pem")
    store = authority.issue("broker", ["localhost", "127.0.0.1"]).write_pem(directory / "broker.pem")
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(store)}, str(trust)


@contextmanager
def odradek(directory: Path, tls: Mapping[str, str]) -> Iterator[tuple[Running, int]]:
    """Our broker, and the port of its TLS listener."""
    port, secure = free_port(), free_port()
    keys = {
        **brokers.SAME_KEYS,
        **tls,
        "listeners": f"PLAINTEXT://127.0.0.1:{port},SSL://127.0.0.1:{secure}",
        "log.dirs": str(directory / "data"),
        "odradek.connections.unauthenticated.max": "100000",
    }
    overrides = [part for key, value in keys.items() for part in ("--override", f"{key}={value}")]
    command = [sys.executable, "-m", "odradek", "serve", *overrides]
    with brokers.serving(command, port, directory / "odradek.log") as running:
        yield running, secure


@contextmanager
def kafka(directory: Path, tls: Mapping[str, str]) -> Iterator[tuple[Running, int]]:
    """A real Kafka, and the port of its TLS listener."""
    port, secure, controller = (free_port() for _ in range(3))
    listeners = f"PLAINTEXT://127.0.0.1:{port},SSL://127.0.0.1:{secure},CONTROLLER://127.0.0.1:{controller}"
    more = {
        **tls,
        "listeners": listeners,
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT",
    }
    with brokers.kafka(kafka_libs(), directory, more, port) as running:
        yield running, secure


def measure(running: Running, secure: int, trust: str, megabytes: int, handshakes: int, idle: int) -> Figures:
    """All figures of one round."""
    figures: Figures = {}
    listeners: dict[str, dict[str, Any]] = {
        "plaintext": {"bootstrap.servers": running.bootstrap},
        "TLS": {
            "bootstrap.servers": f"127.0.0.1:{secure}",
            "security.protocol": "SSL",
            "ssl.ca.location": trust,
        },
    }
    for name, settings in listeners.items():
        _create(settings, f"warm-{name}")
        for _ in range(2):
            _produce(running, settings, f"warm-{name}", megabytes // 4)
        _consume(running, settings, f"warm-{name}", megabytes // 4)
        _create(settings, f"bench-{name}")
        for what, value in _produce(running, settings, f"bench-{name}", megabytes).items():
            figures[f"{name}: produce, {what}"] = value
        for what, value in _consume(running, settings, f"bench-{name}", megabytes).items():
            figures[f"{name}: consume, {what}"] = value
    context = ssl.create_default_context(cafile=trust)
    _handshakes(running, secure, context, handshakes)
    figures |= {
        f"handshake, {what}": value for what, value in _handshakes(running, secure, context, handshakes).items()
    }
    figures["memory of an idle TLS connection KiB"] = _idle_kib(running, secure, context, idle)
    return figures


def _create(settings: Mapping[str, Any], topic: str) -> None:
    admin = AdminClient(dict(settings))  # its requests end with the object
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)


def _produce(running: Running, settings: Mapping[str, Any], topic: str, megabytes: int) -> Figures:
    producer = Producer({**settings, "batch.size": BATCH, "linger.ms": 20, "queue.buffering.max.kbytes": 65_536})
    producer.list_topics(topic, timeout=30)
    value, count = bytes(VALUE), megabytes * 1_000_000 // VALUE
    cpu, begin = running.cpu_seconds(), time.perf_counter()
    for _ in range(count):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.01)
    assert producer.flush(300) == 0
    return _rates(running, cpu, begin, count * VALUE)


def _consume(running: Running, settings: Mapping[str, Any], topic: str, megabytes: int) -> Figures:
    unpaused = {"queued.min.messages": 10_000_000, "queued.max.messages.kbytes": 2_097_151}
    consumer = Consumer({**settings, "group.id": topic, "auto.offset.reset": "earliest", **unpaused})
    consumer.assign([TopicPartition(topic, 0, 0)])
    count = got = megabytes * 1_000_000 // VALUE
    cpu, begin = running.cpu_seconds(), time.perf_counter()
    while got > 0:
        messages = consumer.consume(min(1_000, got), 30)
        assert messages, f"no message within 30 s, {got} are left"
        got -= len(messages)
    figures = _rates(running, cpu, begin, count * VALUE)
    consumer.close()
    return figures


def _rates(running: Running, cpu: float, begin: float, size: int) -> Figures:
    seconds = time.perf_counter() - begin
    return {"MB/s": size / seconds / 1e6, "broker CPU s/GB": (running.cpu_seconds() - cpu) / (size / 1e9)}


def _handshakes(running: Running, port: int, context: ssl.SSLContext, count: int) -> Figures:
    """Connections one after another, each with a full handshake (nothing is resumed)."""
    cpu, begin = running.cpu_seconds(), time.perf_counter()
    for _ in range(count):
        _connected(port, context).close()
    seconds = time.perf_counter() - begin
    return {"a second, one client": count / seconds, "broker CPU ms": (running.cpu_seconds() - cpu) * 1000 / count}


def _idle_kib(running: Running, port: int, context: ssl.SSLContext, count: int) -> float:
    before = running.memory_mb()
    opened = [_connected(port, context) for _ in range(count)]
    time.sleep(1)  # the last ones are counted in
    used = (running.memory_mb() - before) * 1024 / count
    for one in opened:
        one.close()
    return used


def _connected(port: int, context: ssl.SSLContext) -> ssl.SSLSocket:
    """A TLS connection that has had an answer (ApiVersions)."""
    one = context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="localhost")
    one.sendall(bytes.fromhex("0000000e0012000000000001000462656e63"))
    size = int.from_bytes(_exactly(one, 4), "big")
    _exactly(one, size)
    return one


def _exactly(one: ssl.SSLSocket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = one.recv(count - len(data))
        assert more, "the broker closed the connection"
        data += more
    return data


def table(results: Mapping[str, Mapping[str, list[float]]], arguments: argparse.Namespace) -> str:
    """The medians as Markdown."""
    day = datetime.now(UTC).date()
    lines = [
        f"{day.day} {day:%B %Y}, rounds: {arguments.rounds}, {arguments.megabytes} MB each way; the medians (and all).",
        "",
        "| | Odradek | Apache Kafka 4.3.1 | ratio |",
        "|---|---|---|---|",
    ]
    for what, ours in results["odradek"].items():
        theirs = results["kafka"][what]
        one, other = statistics.median(ours), statistics.median(theirs)
        ratio = f"{one / other:.2f}" if other > 0 else ""
        lines.append(f"| {what} | {_shown(ours)} | {_shown(theirs)} | {ratio} |")
    return "\n".join(lines)


def _shown(samples: list[float]) -> str:
    every = ", ".join(f"{one:.3g}" for one in samples)
    return f"{statistics.median(samples):.3g}" + (f" ({every})" if len(samples) > 1 else "")


def write_table(document: Path, text: str) -> None:
    """Replaces what stands between the marks of a page."""
    before, found, rest = document.read_text().partition(BEGIN)
    _, also_found, after = rest.partition(END)
    assert found, f"{document} lacks {BEGIN}"
    assert also_found, f"{document} lacks {END}"
    document.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main() -> int:
    """Measures both brokers in turn, and prints or writes the table; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--megabytes",
        type=int,
        default=400,
        help="megabytes to produce and to consume, once in plaintext and once with TLS",
    )
    parser.add_argument("--handshakes", type=int, default=1_000)
    parser.add_argument("--idle", type=int, default=500, help="the number of idle connections whose memory is measured")
    parser.add_argument("--document", type=Path)
    arguments = parser.parse_args()
    results: dict[str, dict[str, list[float]]] = {"odradek": {}, "kafka": {}}
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as place:
        tls, trust = write_files(Path(place))
        for round_number in range(arguments.rounds):
            for name, start in (("odradek", odradek), ("kafka", kafka)):
                directory = Path(place) / f"{name}-{round_number}"
                directory.mkdir()
                with start(directory, tls) as (running, secure):
                    figures = measure(running, secure, trust, arguments.megabytes, arguments.handshakes, arguments.idle)
                for what, value in figures.items():
                    results[name].setdefault(what, []).append(value)
    text = table(results, arguments)
    print(text)
    if arguments.document is not None:
        write_table(arguments.document, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
