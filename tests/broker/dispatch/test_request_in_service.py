"""Small and large requests take the same path to their handler: equal answers to failures, equal lines about stalls."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.dispatch.dispatch import Dispatcher
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.framing.frames import LARGE_FRAME_BYTES
from odradek.protocol.messages.groups import DescribeGroupsRequest, DescribeGroupsResponse


class ConnectionAlone:
    """A connection without a socket, which runs all work at once."""

    client_host, client_port, listener_name, connection_id = "127.0.0.1", 1, "PLAINTEXT", 1
    principal = "User:ANONYMOUS"
    sent = 0
    is_closing = False
    reservation: Any = None

    def __init__(self) -> None:
        self.answer = b""
        self.released = 0

    def run(self, steps: Iterator[object], failed: Callable[[Exception], None], request: object) -> None:
        try:
            for _ in steps:
                pass
        except Exception as error:  # noqa: BLE001 - as Slices does
            failed(error)

    def answered(self, parts: Any) -> None:
        self.answer = b"".join(bytes(part) for part in parts)

    def answered_in_pieces(self, parts: Any) -> None:
        self.answered(parts)

    def release_memory(self) -> None:
        self.released += 1


def serve(count: int, handler: Any) -> tuple[Dispatcher, ConnectionAlone]:
    """Lets a handler serve a request of ``count`` names."""
    dispatcher = Dispatcher(None, time.monotonic, ServerConfig.load(None, [], {}))
    dispatcher.override_handlers({ApiKey.DESCRIBE_GROUPS: handler})
    names = [f"group-{number:06}" for number in range(count)]
    frame = memoryview(encode_request(DescribeGroupsRequest(names), 5, 7, "someone"))[4:]
    assert (len(frame) >= LARGE_FRAME_BYTES) == (count > 1)
    connection = ConnectionAlone()
    dispatcher.dispatch(connection, frame, True)  # type: ignore[arg-type]
    return dispatcher, connection


def raises_at_once(broker: Any, request: Any, context: Any, reply: Any) -> None:
    raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)


def raises_in_a_step(broker: Any, request: Any, context: Any, reply: Any) -> Iterator[None]:
    yield
    raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)


@pytest.mark.parametrize("handler", [raises_at_once, raises_in_a_step])
@pytest.mark.parametrize("count", [1, 3_000])
def test_what_a_handler_raises_is_answered_for_each_name(count: int, handler: Any) -> None:
    dispatcher, connection = serve(count, handler)
    position = 4 + response_header_version(ApiKey.DESCRIBE_GROUPS, 5)
    response = decode(DescribeGroupsResponse, 5, connection.answer[4:], position)[0]
    assert [group.error_code for group in response.groups] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * count
    seen = dispatcher.last_request()
    assert seen is not None
    assert (seen.api, seen.client_id) == ("DescribeGroups", "someone")


def waits(broker: Any, request: Any, context: Any, reply: Any) -> None:
    """Answers later."""


def waits_after_a_step(broker: Any, request: Any, context: Any, reply: Any) -> Iterator[None]:
    yield


@pytest.mark.parametrize("handler", [waits, waits_after_a_step])
def test_a_large_request_that_waits_gives_its_memory_back(handler: Any) -> None:
    assert serve(3_000, handler)[1].released == 1
    assert serve(1, handler)[1].released == 0
