"""A handler that fails: its request gets an error, the connection continues, a log line has the traceback."""

import logging
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from odradek.broker.api import describe_cluster, list_groups, metadata
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.dispatch.dispatch import Dispatcher
from odradek.broker.network.connection import Connection
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.codec import Message, decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages import message_class
from odradek.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse, ListGroupsRequest
from odradek.protocol.messages.metadata import DescribeClusterRequest, MetadataRequest
from odradek.protocol.messages.produce import ProduceRequest
from odradek.testing.broker.in_process import InProcessBroker

PATIENCE_S = 60.0
VERSION = 4
"""The versions of Heartbeat and ListGroups; both have flexible headers."""
Answer = Callable[[Any], None]


class Answers:
    """A connection that records the calls it receives."""

    client_host, client_port = "10.0.0.7", 4711
    principal = "User:ANONYMOUS"
    sent = 0
    listener_name, connection_id = "PLAINTEXT", 1
    last_used_ms = 0

    def __init__(self) -> None:
        self.responses: list[HeartbeatResponse] = []
        self.refusals: list[str] = []

    def answered(self, parts: list[Any]) -> None:
        frame = b"".join(map(bytes, parts))
        start = 8 + response_header_version(ApiKey.HEARTBEAT, VERSION)
        self.responses.append(decode(HeartbeatResponse, VERSION, frame, start)[0])

    def refuse(self, reason: str) -> None:
        self.refusals.append(reason)


def heartbeat(handle: Callable[[Answer], None]) -> Answers:
    """The result of a Heartbeat that ``handle`` serves."""
    connection = Answers()
    dispatcher = Dispatcher(None, lambda: 0.0, ServerConfig.load(None, [], {}))
    dispatcher.override_handlers({ApiKey.HEARTBEAT: lambda broker, request, context, reply: handle(reply)})
    frame = encode_request(HeartbeatRequest("readers", 1, "one"), VERSION, 1, "thread")[4:]
    dispatcher.dispatch(cast(Connection, connection), memoryview(frame), True)
    return connection


def codes(connection: Answers) -> list[int]:
    assert not connection.refusals
    return [response.error_code for response in connection.responses]


def test_what_nobody_expected_is_an_unknown_server_error(caplog: pytest.LogCaptureFixture) -> None:
    def handle(reply: Answer) -> None:
        raise ZeroDivisionError("of ours")

    assert codes(heartbeat(handle)) == [ErrorCode.UNKNOWN_SERVER_ERROR]
    (line,) = caplog.records
    assert line.getMessage() == "Heartbeat version 4 of client id 'thread' at 10.0.0.7:4711 failed"
    assert line.levelno == logging.ERROR
    assert line.exc_info is not None
    assert line.exc_info[0] is ZeroDivisionError


def test_a_domain_error_keeps_its_code() -> None:
    def handle(reply: Answer) -> None:
        raise KafkaError(ErrorCode.NOT_COORDINATOR)

    assert codes(heartbeat(handle)) == [ErrorCode.NOT_COORDINATOR]


def test_an_answer_that_comes_later_is_not_sent() -> None:
    kept: list[Answer] = []

    def handle(reply: Answer) -> None:
        kept.append(reply)
        raise ZeroDivisionError("after it was parked")

    connection = heartbeat(handle)
    kept[0](HeartbeatResponse())
    assert codes(connection) == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_an_answer_that_was_sent_stays_the_only_one() -> None:
    def handle(reply: Answer) -> None:
        reply(HeartbeatResponse())
        raise ZeroDivisionError("behind the answer")

    assert codes(heartbeat(handle)) == [ErrorCode.NONE]


def test_an_answer_that_cannot_be_encoded_fails_its_request() -> None:
    def handle(reply: Answer) -> None:
        reply(HeartbeatResponse(throttle_time_ms=1 << 40))

    assert codes(heartbeat(handle)) == [ErrorCode.UNKNOWN_SERVER_ERROR]


ALL_TOPICS: list[tuple[Message, int]] = [(MetadataRequest(None), 12), (DescribeClusterRequest(), 1)]


@pytest.mark.parametrize(("asked", "version"), ALL_TOPICS)
def test_an_error_is_not_kept(asked: Message, version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers to equal requests are kept until the metadata changes. An error of Metadata may have no error code: a
    list without topics."""
    module = {MetadataRequest: metadata, DescribeClusterRequest: describe_cluster}[type(asked)]
    serve, failures = module.handle, [ZeroDivisionError("once")]

    def fail_first(*arguments: Any) -> object:
        if failures:
            raise failures.pop()
        return serve(*arguments)

    monkeypatch.setattr(module, "handle", fail_first)
    with (
        InProcessBroker(tmp_path) as broker,
        socket.create_connection((broker.host, broker.port), PATIENCE_S) as connection,
    ):
        ask(connection, ListGroupsRequest(), VERSION)  # lanes serve known connections
        answers = [ask(connection, asked, version) for _ in range(3)]
    assert [bool(answer.brokers) for answer in answers] == [False, True, True]


def read_exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        assert more, "the broker closed the connection"
        data += more
    return data


def ask(connection: socket.socket, request: Message, version: int) -> Any:
    """The response to a request on this connection."""
    connection.sendall(encode_request(request, version, 7, "thread"))
    (size,) = struct.unpack(">i", read_exactly(connection, 4))
    frame = read_exactly(connection, size)
    response_class = message_class(request.NAME.replace("Request", "Response"))
    return decode(response_class, version, frame, 4 + response_header_version(request.API_KEY, version))[0]


def test_the_connection_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve = list_groups.handle

    def fail_first(broker: Any, request: ListGroupsRequest, context: Any, reply: Answer) -> Iterator[object]:
        if request.states_filter:
            raise ZeroDivisionError("with a filter")
        return serve(broker, request, context, reply)

    monkeypatch.setattr(list_groups, "handle", fail_first)
    broker = InProcessBroker(tmp_path)
    broker.start()
    try:
        with socket.create_connection((broker.host, broker.port), PATIENCE_S) as connection:
            assert ask(connection, ListGroupsRequest(["Stable"]), VERSION).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
            assert ask(connection, ListGroupsRequest(), VERSION).error_code == ErrorCode.NONE
    finally:
        broker.stop()


def test_a_request_without_an_answer_ends_the_connection() -> None:
    connection = Answers()
    dispatcher = Dispatcher(None, lambda: 0.0, ServerConfig.load(None, [], {}))

    def handle(broker: Any, request: ProduceRequest, context: Any, reply: Answer) -> None:
        raise ZeroDivisionError("of ours")

    dispatcher.override_handlers({ApiKey.PRODUCE: handle})
    frame = encode_request(ProduceRequest(None, 0, 1_000, []), 9, 1, "thread")[4:]
    dispatcher.dispatch(cast(Connection, connection), memoryview(frame), True)
    assert connection.refusals == ["the request failed (UNKNOWN_SERVER_ERROR), and its client expects no answer"]
    assert not connection.responses
