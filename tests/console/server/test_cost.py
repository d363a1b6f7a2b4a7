"""An open console at 10,000 partitions: other clients of its broker wait for less than 50 ms (Linux)."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.protocol.codec.header import encode_request
from support.brokers.heavy_requests import create
from support.brokers.neighbour import Line, Neighbour
from support.brokers.our_broker import OurBroker, resident_bytes
from support.eventually import eventually

from .console_client import ConsoleClient
from .test_of_broker import children, console_port

TOPICS, PARTITIONS = 100, 100
LOOP_MS = 50.0

pytestmark = pytest.mark.ci


class WarmBroker(OurBroker):
    """A broker that has already imported the modules of its warm-up, and whose log has many lines."""

    program = ("-m", "odradek", "serve", "--log-level", "debug")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OurBroker]:
    with WarmBroker(tmp_path, {"odradek.console.listener": "127.0.0.1:0"}) as running:
        eventually("all modules to be imported", lambda: "all modules are imported" in running.log())
        for number in range(TOPICS):
            Line(running.port).exchange(encode_request(create([f"topic-{number}"], PARTITIONS), 5, 7, "c"))
        yield running


def test_others_go_on_beside_an_open_console(broker: OurBroker, capsys: pytest.CaptureFixture[str]) -> None:
    with Neighbour(broker.port, broker.pid) as neighbour:
        client = ConsoleClient(console_port(broker))
        assert client.log_in().status == 200
        look_around(client)
    seen = neighbour.seen
    [process] = children(broker.pid)
    with capsys.disabled():
        print(f"\n{seen}; the console's process has {resident_bytes(process) / 1e6:.0f} MB")
    assert seen.refused_heartbeats == 0
    assert seen.longest_cpu_ms <= LOOP_MS, seen


def look_around(client: ConsoleClient) -> None:
    """Opens each view that asks much, with two streams beside them."""
    stop = threading.Event()

    def follow(path: str) -> None:
        with client.stream(path) as lines:
            for _ in lines:
                if stop.is_set():
                    return

    streams = [threading.Thread(target=follow, args=(path,), daemon=True) for path in ("/api/log",)]
    for stream in streams:
        stream.start()
    names = "&".join(f"names=topic-{number}" for number in range(50))
    for _ in range(3):
        topics = client.get("/api/topics").json["topics"]
        assert sum(topic["partitions"] for topic in topics if topic["name"].startswith("topic-")) == TOPICS * PARTITIONS
        for path in (
            "/api/overview",
            f"/api/topic-details?{names}",
            "/api/topics/topic-0",
            "/api/topics/topic-0/configs",
            "/api/groups",
            "/api/cluster",
            "/api/storage",
            "/api/transactions",
            "/api/connections",
            "/api/rebalances",
        ):
            answer = client.get(path)
            assert answer.status == 200, (path, answer.body)
    stop.set()
