"""A client that opens all share sessions of a broker leaves room for the clients of others."""

import contextlib
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.share_groups import ShareFetchRequest, ShareFetchResponse
from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.asking import Asking

VERSION = 2
MOST = 3


class ShareClient:
    """A connection from an address of its own."""

    def __init__(self, port: int, address: str) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port), 30, (address, 0))

    def close(self) -> None:
        self._connection.close()

    def error_of(self, member: int, epoch: int = 0) -> int:
        """The error code of a ShareFetch of a member."""
        request = ShareFetchRequest(
            group_id="g", member_id=f"{member:022d}", share_session_epoch=epoch, max_wait_ms=0, max_records=1
        )
        self._connection.sendall(encode_request(request, VERSION, 1, "client"))
        with self._connection.makefile("rb", 0) as stream:
            size = struct.unpack(">i", _read(stream, 4))[0]
            frame = _read(stream, size)
        header = 4 + response_header_version(ShareFetchRequest.API_KEY, VERSION)
        return int(decode(ShareFetchResponse, VERSION, frame, header)[0].error_code)


def _read(stream: socket.SocketIO, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = stream.read(size - len(data))
        assert part, "the connection was closed"
        data += part
    return data


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    with InProcessBroker(tmp_path, {"group.share.max.share.sessions": MOST}) as broker:
        assert Asking(broker.port).create("t", 1) == 0
        yield broker.port


def test_the_sessions_of_one_client_make_room_for_another(port: int) -> None:
    with contextlib.closing(ShareClient(port, "127.0.0.1")) as greedy:
        for member in range(MOST):
            assert greedy.error_of(member) == 0
        assert greedy.error_of(MOST) == ErrorCode.SHARE_SESSION_LIMIT_REACHED
        with contextlib.closing(ShareClient(port, "127.0.0.2")) as other:
            assert other.error_of(100) == 0
            assert greedy.error_of(0, 1) == ErrorCode.SHARE_SESSION_NOT_FOUND, "it made room"
            assert greedy.error_of(1, 1) == 0
            assert other.error_of(100, 1) == 0
            assert greedy.error_of(MOST) == ErrorCode.SHARE_SESSION_LIMIT_REACHED
            assert other.error_of(101) == ErrorCode.SHARE_SESSION_LIMIT_REACHED, "both would have two, or one and two"
