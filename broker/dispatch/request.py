"""What a handler knows of a request besides its body. Pure."""

from collections.abc import Iterator
from typing import Protocol, TypeVar

Response = TypeVar("Response", contravariant=True)


class RequestContext:
    """Where a request came from and when. One object lives as long as its request.

    ``now_ms`` is wall-clock milliseconds since the epoch, read once when the request was taken up: handlers and cores
    take the time from here and never ask a clock. ``owns_frame``: the request's views (records) stay valid after the
    handler has returned; otherwise they are valid only inside it. ``in_slices``: it is served in slices, because it has
    more than 512 elements or because its handler has asked for it.
    """

    __slots__ = (
        "api_key",
        "api_version",
        "client_host",
        "client_id",
        "connection_id",
        "in_slices",
        "listener_name",
        "now_ms",
        "owns_frame",
    )

    def __init__(
        self,
        api_key: int,
        api_version: int,
        client_id: str | None,
        client_host: str,
        listener_name: str,
        connection_id: int,
        now_ms: int,
        owns_frame: bool = True,
        in_slices: bool = False,
    ) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.client_id = client_id
        self.client_host = client_host
        self.listener_name = listener_name
        self.connection_id = connection_id
        self.now_ms = now_ms
        self.owns_frame = owns_frame
        self.in_slices = in_slices

    def is_wanted(self) -> bool:
        """Whether a client waits for the answer; False once the connection has closed."""
        return True


class Reply(Protocol[Response]):
    """How a request is answered, at once or later."""

    def __call__(self, response: Response | None) -> None:
        """Answers; None where the client wants no answer."""

    def refuse(self, reason: str) -> None:
        """Closes the connection instead; a handler that has not returned raises :class:`ConnectionRefusal`."""

    def go_on(self, request: object, steps: Iterator[object]) -> None:
        """Takes further steps of a request whose handler has returned, in slices; they end with the connection."""


class ConnectionRefusal(Exception):  # noqa: N818 - it is not an error of ours, but what the peer gets
    """Raised by a handler where Kafka closes the connection instead of answering; the text goes to the log."""
