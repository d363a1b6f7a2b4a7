"""Unread requests are found after a stall: bytes in sockets, and frames that wait for an earlier request."""

import asyncio
import socket
from typing import cast

from odradek.broker.network.connection import Connection
from odradek.broker.network.unread import LOOKED_AT_AT_ONCE, Unread, unread


class Transport:
    """A transport with the methods that are used."""

    def __init__(self, one: socket.socket | None) -> None:
        self._socket = one

    def get_extra_info(self, name: str) -> socket.socket | None:
        assert name == "socket"
        return self._socket


class Peer:
    """A connection whose other end the test has."""

    def __init__(self) -> None:
        self.client, self.server = socket.socketpair()
        self.transport: asyncio.Transport | None = cast(asyncio.Transport, Transport(self.server))
        self.is_closing = False
        self.muted = None
        self.holds_frames = False

    @property
    def as_connection(self) -> Connection:
        return cast(Connection, self)

    def close(self) -> None:
        self.client.close()
        self.server.close()


def test_bytes_and_frames_are_found_until_they_are_gone() -> None:
    quiet, sent, waits, closed = peers = [Peer() for _ in range(4)]
    sent.client.send(b"heartbeat")
    waits.holds_frames = True
    closed.client.send(b"bytes")
    closed.is_closing = True
    connections = [peer.as_connection for peer in peers]
    assert set(unread(connections)) == {sent.as_connection, waits.as_connection}
    left = Unread(connections)
    assert not left.is_drained()
    sent.server.recv(100)
    assert not left.is_drained()
    quiet.client.send(b"sent after the stall")
    waits.holds_frames = False
    assert left.is_drained(), "what was once seen without anything unread counts as drained"
    for peer in peers:
        peer.close()


def test_a_connection_that_has_just_lost_its_socket_has_nothing_unread() -> None:
    lost = Peer()
    lost.close()
    lost.transport = cast(asyncio.Transport, Transport(None))
    assert unread([lost.as_connection]) == []


def test_one_look_asks_about_a_bounded_number() -> None:
    peer = Peer()
    left = Unread([peer.as_connection] * (2 * LOOKED_AT_AT_ONCE + 1))
    assert [left.is_drained() for _ in range(3)] == [False, False, True]
    peer.close()
