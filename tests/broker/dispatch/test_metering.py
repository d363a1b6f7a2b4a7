"""Requests are measured once: answered at once, later, in steps, or by a handler that fails."""

import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.dispatch.dispatch import Dispatcher
from odradek.broker.dispatch.metering import Metering
from odradek.broker.metrics.request_meters import ApiMeter, RequestMeters
from odradek.broker.network.connection import Connection
from odradek.broker.network.waiting import Waiting
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.codec.header import encode_request
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse

Answer = Callable[[Any], None]
VERSION = 4


class ConnectionAlone:
    """A connection without a socket, which runs all work at once."""

    client_host, client_port, listener_name, connection_id = "127.0.0.1", 1, "PLAINTEXT", 1
    principal = "User:ANONYMOUS"
    sent = 0
    last_used_ms = 0.0
    is_closing = False

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.refusals: list[object] = []

    def run(self, steps: Iterator[object], failed: Callable[[Exception], None], request: object) -> None:
        for _ in steps:
            pass

    def answered(self, parts: Any) -> None:
        self.answers.append(parts)

    def answered_in_pieces(self, parts: Any) -> None:
        self.answered(parts)

    def refuse(self, reason: object) -> None:
        self.refusals.append(reason)


def served(handler: Any) -> tuple[ApiMeter, ConnectionAlone]:
    """Lets a handler serve one Heartbeat. Returns what was counted."""
    meters = RequestMeters()
    config = ServerConfig.load(None, [], {})
    dispatcher = Dispatcher(None, time.monotonic, config, metering=Metering(meters, Waiting()))
    dispatcher.override_handlers({ApiKey.HEARTBEAT: handler})
    connection = ConnectionAlone()
    frame = memoryview(encode_request(HeartbeatRequest("g", 1, "m"), VERSION, 7, "someone"))[4:]
    dispatcher.dispatch(cast("Connection", connection), frame, True)
    meter = meters.of("Heartbeat")
    assert meter.versions[VERSION].requests == 1
    assert meter.request_bytes == len(frame)
    return meter, connection


def counts(meter: ApiMeter) -> tuple[int, int]:
    """The number of total times and of local times that were counted."""
    return sum(meter.total.buckets), sum(meter.local.buckets)


def test_an_answer_of_the_handler_is_measured_once() -> None:
    meter, connection = served(lambda broker, request, context, reply: reply(HeartbeatResponse()))
    assert counts(meter) == (1, 1)
    assert meter.total.ns == meter.local.ns > 0
    assert meter.response_bytes == sum(map(len, connection.answers[0]))
    assert meter.errors == {0: 1}


def test_a_later_answer_is_measured_when_it_comes() -> None:
    replies: list[Answer] = []
    meter, _ = served(lambda broker, request, context, reply: replies.append(reply))
    assert counts(meter) == (0, 1)
    replies[0](HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    assert counts(meter) == (1, 1)
    assert meter.total.ns > meter.local.ns > 0
    assert meter.errors == {ErrorCode.REBALANCE_IN_PROGRESS: 1}


def test_a_request_without_an_answer_is_measured() -> None:
    meter, connection = served(lambda broker, request, context, reply: reply(None))
    assert counts(meter) == (1, 1)
    assert (connection.answers, meter.response_bytes, meter.errors) == ([None], 0, {})


@pytest.mark.parametrize("answers_first", [False, True])
def test_steps_are_measured(answers_first: bool) -> None:
    def handle(broker: object, request: object, context: object, reply: Answer) -> Iterator[object]:
        if answers_first:
            reply(HeartbeatResponse())

        def steps() -> Iterator[object]:
            yield None
            if not answers_first:
                reply(HeartbeatResponse())

        return steps()

    meter, connection = served(handle)
    assert len(connection.answers) == 1
    assert counts(meter) == (1, 1)
    assert meter.errors == {0: 1}


def test_a_handler_that_fails_is_measured() -> None:
    replies: list[Answer] = []

    def fails(broker: object, request: object, context: object, reply: Answer) -> None:
        replies.append(reply)
        raise RuntimeError("a bug")

    meter, _ = served(fails)
    assert counts(meter) == (1, 1)
    assert meter.errors == {ErrorCode.UNKNOWN_SERVER_ERROR: 1}
    replies[0](HeartbeatResponse())  # dropped
    assert counts(meter) == (1, 1)
    assert meter.errors == {ErrorCode.UNKNOWN_SERVER_ERROR: 1}
