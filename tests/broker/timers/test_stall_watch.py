"""A stall of the event loop is logged with the code that ran."""

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.api import list_groups
from odradek.broker.lanes import api_versions
from odradek.broker.timers.stall_report import RequestSeen, StackFrame, Stall, words
from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.groups import ListGroupsRequest
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.protocol.messages.structure import Message
from odradek.testing.broker.in_process import InProcessBroker
from support.eventually import eventually_in_loop

DISPATCH = StackFrame("/x/broker/dispatch/dispatch.py", 170, "Dispatcher.dispatch")
TURN = StackFrame("/x/broker/timers/slices.py", 150, "Slices._turn")
ADVANCE = StackFrame("/x/broker/timers/slices.py", 60, "SlicedWork.advance")
APPEND = StackFrame("/x/storage/log/log.py", 12, "Log.append")
REQUEST = RequestSeen("Produce", "evil\n", "10.0.0.1")


@pytest.mark.parametrize(
    ("stall", "said"),
    [
        (Stall(8_400, 10, 0, (), REQUEST), "the process did not run: it was stopped, or it got no CPU"),
        (Stall(8_400, 10, 8_000, (), REQUEST), "the machine was suspended"),
        (
            Stall(2_000, 1_900, 0, (DISPATCH, APPEND), REQUEST),
            "it ran Produce of client 'evil\\n' at 10.0.0.1, Log.append (storage/log/log.py:12)",
        ),
        (
            Stall(2_000, 1_900, 0, (TURN, ADVANCE, APPEND), RequestSeen("Fetch", "other", "10.0.0.2"), REQUEST),
            "it ran a slice of Produce of client 'evil\\n' at 10.0.0.1, Log.append (storage/log/log.py:12)",
        ),
        (
            Stall(2_000, 1_900, 0, (TURN, ADVANCE, APPEND), REQUEST, "a metadata change"),
            "it ran a slice of a metadata change, Log.append (storage/log/log.py:12)",
        ),
        (
            Stall(2_000, 1_900, 0, (DISPATCH, ADVANCE, APPEND), REQUEST, None),
            "it ran background work, Log.append (storage/log/log.py:12)",
        ),
        (Stall(2_000, 5, 0, (APPEND,), REQUEST), "it waited in background work, Log.append (storage/log/log.py:12)"),
        (
            Stall(2_000, 2_000, 0, (), REQUEST),
            "one call held the interpreter; the last request was Produce of client 'evil\\n' at 10.0.0.1",
        ),
    ],
)
def test_the_words_name_what_ran(stall: Stall, said: str) -> None:
    assert words(stall) == said


class Lines(logging.Handler):
    """Passes the warnings of the watch to the test."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.get_running_loop()
        self.lines: asyncio.Queue[str] = asyncio.Queue()

    def emit(self, record: logging.LogRecord) -> None:
        self.loop.call_soon_threadsafe(self.lines.put_nowait, record.getMessage())


def hold_up(seconds: float) -> None:
    """Stalls the event loop with a call that does not return for a while."""
    time.sleep(seconds)


def watching() -> set[threading.Thread]:
    """The threads of the watches of all brokers in this process. A watch begins with its first tick."""
    return {thread for thread in threading.enumerate() if thread.name == "odradek-stalls"}


async def ask(broker: InProcessBroker, request: Message) -> None:
    reader, writer = await asyncio.open_connection(broker.host, broker.port)
    writer.write(encode_request(request, 0, 1, "slow"))
    await reader.readexactly(4)
    writer.close()


@pytest.mark.parametrize("where", ["lane", "handler", "slices"])
async def test_a_request_that_holds_the_loop_up_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    module: Any = api_versions if where == "lane" else list_groups
    answer = module.handle

    def handle(*arguments: Any) -> Any:
        hold_up(2.5)
        return answer(*arguments)

    def handle_in_slices(broker: Any, request: Any, context: Any, reply: Any) -> Iterator[object]:
        end_s = time.monotonic() + 0.1
        while time.monotonic() < end_s:  # the slices that follow are no part of the request's dispatch
            yield None
        hold_up(2.5)
        yield from answer(broker, request, context, reply)

    monkeypatch.setattr(module, "handle", handle_in_slices if where == "slices" else handle)
    logger = logging.getLogger("odradek.broker.timers.stall_watch")
    handler = Lines()
    logger.addHandler(handler)
    request = ApiVersionsRequest() if where == "lane" else ListGroupsRequest()
    of_others = watching()
    try:
        with InProcessBroker(tmp_path) as broker:
            await eventually_in_loop("the watch runs", lambda: watching() - of_others)
            await ask(broker, request)
            line = await handler.lines.get()
    finally:
        logger.removeHandler(handler)
    what = ("a slice of " if where == "slices" else "") + request.NAME.removesuffix("Request")
    assert f"it waited in {what} of client 'slow' at 127.0.0.1, hold_up (broker/timers/test_stall_watch.py:" in line
