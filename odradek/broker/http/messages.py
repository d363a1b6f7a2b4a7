"""Requests and responses of HTTP, as handlers see them.

Owns: their shape. Never does: reading a socket, framing. Invariant: a body is read only if the handler asks for it, so
a client that may not ask costs no memory.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple

Headers = tuple[tuple[str, str], ...]
TEXT = "text/plain; charset=utf-8"


class BodyTooLargeError(Exception):
    """The body of a request is larger than its handler allows."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """The head of a request, and a way to its body."""

    method: str
    target: str
    """The path and the query as they were sent, percent-encoded."""
    headers: Headers
    """The names are in lower case."""
    read_body: Callable[[int], Awaitable[bytes]]
    """Reads the body, which may have the given number of bytes. Raises BodyTooLargeError; ConnectionError if the client
    is gone."""

    @property
    def path(self) -> str:
        """The target without its query, percent-encoded."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The target after ``?``, percent-encoded."""
        return self.target.partition("?")[2]

    def field(self, name: str) -> str:
        """The value of the first header with this name in lower case; empty if it is absent."""
        return next((value for known, value in self.headers if known == name), "")


class HttpResponse(NamedTuple):
    """A response. The server adds the headers of the framing."""

    status: int
    headers: Headers = ()
    body: bytes | Iterator[bytes] | AsyncGenerator[bytes, None] = b""
    """Bytes have a Content-Length. An iterator's pieces are made in bounded turns of the event loop. An async generator
    makes each piece when there is one, and is closed when the client is gone."""


Answer = Callable[[HttpRequest], Awaitable[HttpResponse]]
"""Answers a request. The body of the request is still unread."""


def text_response(status: int, text: str, *headers: tuple[str, str]) -> HttpResponse:
    """A response of plain text."""
    return HttpResponse(status, (("Content-Type", TEXT), *headers), text.encode())


def reason_of(status: int) -> str:
    """The words after a status code, such as ``Not Found``."""
    return HTTPStatus(status).phrase
