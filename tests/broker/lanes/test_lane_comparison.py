"""TESTS_COMPARE_LANES: the comparison finds what a lane does otherwise than the general path, and names its API."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from odradek.broker.coordinator.shard import CoordinatorShard
from odradek.broker.fetch.session import FetchSessionCache
from odradek.broker.lanes import consumer_group_heartbeat, list_offsets, offset_commit, produce
from odradek.broker.lanes.fetch import NothingAnswer, RecordsAnswer
from odradek.broker.lanes.template import FixedAnswer
from odradek.protocol.apis.api_keys import api
from odradek.protocol.codec.header import encode_request
from odradek.protocol.errors import ProtocolError
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.groups import FindCoordinatorRequest
from odradek.protocol.messages.metadata import MetadataRequest
from support.compared_lanes import lane_comparison

from .test_lanes import METRICS
from .traffic import GROUP, MODERN, MODERN_MEMBER, Traffic
from .twins import Twins, twins

REQUESTS = 400
TESTS = Path(__file__).parents[2]
Break = Callable[[pytest.MonkeyPatch], None]


class OnlyLanes(Twins):
    """Sends requests to the broker with lanes only."""

    async def send(self, connection: int, data: bytes) -> None:
        await self.with_lanes.send(connection, data)

    async def ask(self, connection: int, data: bytes, answers: int = 1) -> list[bytes] | None:
        answered = await self.with_lanes.ask(connection, data, answers)
        if not answers and answered is not None:
            await self.with_lanes.settled(connection)
        return answered


class Tolerant(Traffic):
    """Traffic that goes on after an answer that can't be decoded."""

    always_same_client = False

    async def _send(self, connection: int, request: Any, version: int) -> Any:
        try:
            return await super()._send(connection, request, version)
        except (ProtocolError, IndexError):
            return api(request.API_KEY).response_class()()

    def _frame(self, request: Any, version: int) -> bytes:
        if self.always_same_client:
            return encode_request(request, version, 1, "app")
        return super()._frame(request, version)

    async def ask_again(self) -> None:
        """Requests that few of the others repeat: lanes know them by their bytes."""
        self.always_same_client = True
        for owns in (self._modern_owned, None, None):
            request = ConsumerGroupHeartbeatRequest(MODERN, MODERN_MEMBER, self._modern_epoch)
            request.topic_partitions = owns
            self._note_modern(await self._send(0, request, 1))
        for _ in range(2):
            await self._send(0, MetadataRequest(None), 12)
            await self._send(0, FindCoordinatorRequest(key=GROUP), 2)


async def differences(folder: Path, monkeypatch: pytest.MonkeyPatch, break_it: Break, seed: int = 1) -> set[str]:
    """The APIs and effects that differ in generated requests to a broker whose lanes are broken."""
    found = folder / "differences"
    found.mkdir()
    monkeypatch.setenv(lane_comparison.DIFFERENCES, str(found))
    break_it(monkeypatch)
    lane_comparison.install(monkeypatch.setattr)
    async with twins(folder, METRICS, monkeypatch) as both:
        one = OnlyLanes(both.with_lanes, both.without, [0], both._clock)
        traffic = Tolerant(one, Random(seed))
        await traffic.begin()
        await traffic.run(REQUESTS)
        await traffic.ask_again()
        assert both.served > REQUESTS // 4, "lanes have served too few requests for this test to show anything"
    lines = "".join(path.read_text() for path in found.iterdir()).splitlines()
    return {f"{line.split()[0]}: {line.split(': ')[1]}" for line in lines}


def broken_bytes(owner: Any, name: str) -> Break:
    """Changes the last byte of what a function returns."""

    def break_it(monkeypatch: pytest.MonkeyPatch) -> None:
        real = getattr(owner, name)

        def broken(*arguments: Any) -> Any:
            made = real(*arguments)
            return _changed(made) if isinstance(made, bytes) else [*made[:-1], _changed(made[-1])]

        monkeypatch.setattr(owner, name, broken)

    return break_it


def _changed(encoded: bytes) -> bytes:
    return encoded[:-1] + bytes([encoded[-1] ^ 1])


def broken_number(module: Any) -> Break:
    """Adds 1 to the last number in each answer of a lane."""

    def break_it(monkeypatch: pytest.MonkeyPatch) -> None:
        real = module.template

        def broken(encoded: bytes, numbers: str) -> Any:
            made = real(encoded, numbers)
            return made and (lambda frame, *of: made(frame, *of[:-1], of[-1] + 1))

        monkeypatch.setattr(module, "template", broken)

    return break_it


def left_out(owner: Any, name: str) -> Break:
    """Lets a function do nothing."""
    return lambda monkeypatch: monkeypatch.setattr(owner, name, lambda *_, **__: None)


def other_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    real = offset_commit.CommitBatch.encoded
    monkeypatch.setattr(
        offset_commit.CommitBatch,
        "encoded",
        lambda self, commits, now_ms: real(
            self, [(index, offset, epoch + 1, length, tags) for index, offset, epoch, length, tags in commits], now_ms
        ),
    )


BROKEN: dict[str, tuple[Break, set[str]]] = {
    "nothing": (lambda _: None, set()),
    "whole answers": (
        broken_bytes(FixedAnswer, "encoded"),
        {"ApiVersions: answer", "Heartbeat: answer", "OffsetCommit: answer"},
    ),
    "kept answers": (
        broken_bytes(FixedAnswer, "parts"),
        {"Metadata: answer", "FindCoordinator: answer", "DescribeCluster: answer"},
    ),
    "Produce": (broken_number(produce), {"Produce: answer"}),
    "ListOffsets": (broken_number(list_offsets), {"ListOffsets: answer"}),
    "ConsumerGroupHeartbeat": (
        broken_number(consumer_group_heartbeat),
        {"ConsumerGroupHeartbeat: answer"},
    ),
    "Fetch": (broken_bytes(RecordsAnswer, "parts"), {"Fetch: answer"}),
    "Fetch without news": (broken_bytes(NothingAnswer, "encoded"), {"Fetch: answer"}),
    "fetch session": (
        left_out(FetchSessionCache, "advance"),
        {"Fetch: FetchSession.epoch", "Fetch: FetchSession.last_used_ms"},
    ),
    "session timer": (
        left_out(CoordinatorShard, "set_timer"),
        {"Heartbeat: timer", "ConsumerGroupHeartbeat: timer", "OffsetCommit: timer"},
    ),
    "stored offset": (other_epoch, {"OffsetCommit: append"}),
}


OFTEN = ("nothing", "whole answers", "Produce", "fetch session")


@pytest.mark.parametrize("what", [pytest.param(what, marks=() if what in OFTEN else pytest.mark.ci) for what in BROKEN])
async def test_differences(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_it, expected = BROKEN[what]
    assert await differences(tmp_path, monkeypatch, break_it) == expected


A_TEST = """
from pathlib import Path

from odradek.broker.lanes.template import FixedAnswer
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.asking import Asking
from support.brokers.our_broker import OurBroker

real = FixedAnswer.encoded


def test_in_this_process(monkeypatch):
    monkeypatch.setattr(FixedAnswer, "encoded", lambda self, frame: b"\\0\\0\\0\\12\\0\\0\\0\\7" + bytes(6))
    with InProcessBroker() as broker:
        Asking(broker.port).ask(ApiVersionsRequest(), 0)


def test_in_another_process(tmp_path):
    broker = OurBroker(tmp_path)
    broken = "FixedAnswer.encoded = lambda self, frame: bytes([0, 0, 0, 10, 0, 0, 0, 7]) + bytes(6)"
    start = "from odradek.__main__ import main; import sys; sys.argv[0] = 'odradek'; main()"
    broker.program = "-c", f"from odradek.broker.lanes.template import FixedAnswer; {broken}; {start}", "serve"
    with broker:
        Asking(broker.port).ask(ApiVersionsRequest(), 0)


def test_without_a_difference(tmp_path):
    with OurBroker(tmp_path) as broker:
        Asking(broker.port).ask(ApiVersionsRequest(), 0)
"""


@pytest.mark.ci
def test_a_test_with_a_difference_fails(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(A_TEST)
    program = [sys.executable, "-m", "pytest", "-q", "-p", "support.compared_lanes.plugin", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    ended = subprocess.run(
        [*program, f"--rootdir={tmp_path}", str(tmp_path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 passed, 2 errors" in ended.stdout, ended.stdout + ended.stderr
    for name in ("test_in_this_process", "test_in_another_process"):
        assert f"ERROR test_some.py::{name} - Failed: 1 differences of lanes" in ended.stdout, ended.stdout
