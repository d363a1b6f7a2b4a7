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


class BodyRefusedError(Exception):
    """The body of a request is larger than its handler allows, or its chunks are malformed."""

    def __init__(self, status: int, reason: str) -> None:
        """``status``: of the answer that the handler should give."""
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """The head of a request, and a way to its body."""

    method: str
    target: str
    """The path and the query as they were sent, percent-encoded."""
    headers: Headers
    """The names are in lower case."""
    read_body: Callable[[int], Awaitable[bytes]]
    """Reads the body, which may have the given number of bytes. Raises BodyRefusedError; ConnectionError if the client
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


class HttpService(NamedTuple):
    """What a server answers."""

    answer: Answer
    content: str = "answer"
    """What the answers are, for the log."""
    refused: Callable[[int, str], HttpResponse] = text_response
    """Makes the answer to what is not a request, or to one that the server itself refuses: from status and reason."""
