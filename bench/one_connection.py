"""A connection to a broker that stays open: the end of one ends a share session."""

import socket
from typing import Any

from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.messages import message_class
from odradek.protocol.messages.structure import Message


class OneConnection:
    """One connection to a port of 127.0.0.1."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)

    def ask(self, request: Message, version: int) -> Any:
        """Sends a request and returns the response."""
        self._socket.sendall(encode_request(request, version, 7, "bench"))
        frame = self._read(int.from_bytes(self._read(4), "big"))
        response = message_class(request.NAME.replace("Request", "Response"))
        return decode(response, version, frame, 4 + response_header_version(request.API_KEY, version))[0]

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            assert part, "the broker has closed the connection"
            data += part
        return bytes(data)
