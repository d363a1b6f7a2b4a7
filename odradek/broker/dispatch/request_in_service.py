"""A request that is being served, from its decoding to its answer.

Owns: the request's one answer. Never does: finding the handler. Invariants: a request is answered once, or its
connection is closed; after a request has failed, later answers of its handler are dropped. Source:
``RequestChannel.Request``, ``RequestHandlerHelper.handleError``.
"""

import logging
import sys
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.protocol.apis.api_keys import api
from odradek.protocol.codec import decoder
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.steps import begun
from odradek.protocol.errors import ErrorCode, KafkaError, ProtocolError

from ..network.connection import Connection
from ..network.response_writer import Part
from ..timers.log_lines import quoted
from .request import ConnectionRefusal, Denial, RequestContext
from .route import Keep, Route

with lazy_imports:
    from odradek.protocol.reference import dissect

    from . import error_responses

if TYPE_CHECKING:
    from .charge import Charge

logger = logging.getLogger(__name__)


class FaultyFrame:
    """The reason why a frame was refused, as text. The text takes up to 5 ms, so it is made only if the log shows it.

    Convert it to text before the frame's bytes change, as a log call does.
    """

    __slots__ = ("_client_id", "_error", "_frame", "_text")

    def __init__(self, frame: memoryview, error: ProtocolError, client_id: str | None) -> None:
        self._frame = frame
        self._error = error
        self._client_id = client_id
        self._text: str | None = None

    def __str__(self) -> str:
        if self._text is None:
            self._text = f"{dissect.explain(self._frame, self._error)}; client id {quoted(self._client_id)}"
        return self._text


class RequestInService(RequestContext):
    """The context of a request and its reply function, in one object.

    Call it with the response, or with None if the client wants none. ``in_slices``: the request is served in slices,
    and its response is encoded in slices too.
    """

    __slots__ = ("_connection", "_correlation_id", "_route", "begun_ns", "keep")

    def __init__(
        self,
        connection: Connection,
        route: Route,
        correlation_id: int,
        client_id: str | None,
        now_ms: int,
        owns_frame: bool,
        in_slices: bool,
    ) -> None:
        self._connection: Connection | ClosedReply | None = connection
        self.keep: Keep | None = None
        """Gets the answer, for a lane that keeps it."""
        self.begun_ns = 0
        """When it began, as :class:`.metering.Measured` says; 0 without metrics."""
        self._route = route
        self._correlation_id = correlation_id
        self.api_key = route.api_key
        self.api_version = route.version
        self.client_id = client_id
        self.client_host = connection.client_host
        self.listener_name = connection.listener_name
        self.connection_id = connection.connection_id
        self.now_ms = now_ms
        self.owns_frame = owns_frame
        self.in_slices = in_slices
        self.principal = connection.principal
        self.access = None
        self.charge: Charge | None = None

    @property
    def name(self) -> str:
        """The API's name."""
        return self._route.name

    def __call__(self, response: Any) -> None:
        """Encodes and sends the response. A second call is a bug of the handler."""
        connection = self._connection
        assert connection is not None, "a request was answered twice"
        charge = self.charge
        if charge is not None:
            response = charge.settle(self._route, response)
        if self.in_slices and response is not None:
            self._answer_in_slices(connection, response)
            return
        # Encode first: if encoding raises, nothing was sent yet, and the request fails.
        parts = None if response is None else self._route.encode(response, self._correlation_id)
        self._connection = None
        if self.keep is not None and parts is not None:
            self.keep(response, parts)
        if charge is not None:
            charge.mute(connection)
        if self.begun_ns:
            self._route.note_answer(self, response, parts)
        connection.answered(parts)

    def _answer_in_slices(self, connection: "Connection | ClosedReply", response: Any) -> None:
        """Encodes a large response in slices, then sends it. The handler may have returned before."""
        self._connection = None
        if not isinstance(connection, ClosedReply):
            connection.run(self._encode_steps(connection, response), partial(self._not_encoded, connection), self)

    def _encode_steps(self, connection: Connection, response: Any) -> Iterator[object]:
        parts = yield from self._route.encode_steps(response, self._correlation_id)
        if self.keep is not None:
            self.keep(response, parts)
        if self.charge is not None:
            self.charge.mute(connection)
        if self.begun_ns:
            self._route.note_answer(self, response, parts)
        connection.answered_in_pieces(parts)

    def _not_encoded(self, connection: Connection, error: Exception) -> None:
        logger.error("the response to %s version %d can't be encoded", self.name, self.api_version, exc_info=error)
        connection.refuse(f"the response to {self.name} version {self.api_version} can't be encoded")

    def run_steps(self, request: Any, steps: Iterator[object]) -> None:
        """Runs further steps of a request whose handler has returned: at once to their first pause, then in slices.
        They end with the connection, and do not begin after it."""
        connection = self._connection
        if connection is None or isinstance(connection, ClosedReply) or connection.is_closing:
            return
        failed = partial(answer_failure, connection, self, request)
        try:
            rest = begun(steps if self.charge is None else self.charge.timed(steps))
        except Exception as error:  # noqa: BLE001 - any error of a handler fails its own request only
            failed(error)
            return
        if rest is not None:
            self.in_slices = True
            connection.run(rest, failed, self)

    @property
    def is_answered(self) -> bool:
        """Whether the request was answered or its connection was closed."""
        return self._connection is None

    def is_by_token(self) -> bool:
        """Whether the client has logged in with a delegation token; False once the request is answered."""
        connection = self._connection
        return isinstance(connection, Connection) and connection.by_token

    def take_arrival(self, now_ns: int) -> int:
        """When the request arrived, if it has waited and nothing has counted that yet; else ``now_ns``."""
        connection = self._connection
        return connection.take_arrival(now_ns) if isinstance(connection, Connection) else now_ns

    def identify(self, software_name: str, software_version: str) -> None:
        """Notes the client library of the connection (KIP-511)."""
        if isinstance(self._connection, Connection):
            self._connection.software = sys.intern(software_name), sys.intern(software_version)

    def client_software(self) -> tuple[str, str]:
        """Name and version of the client library of the connection; unknown once the request is answered."""
        connection = self._connection
        return connection.software if isinstance(connection, Connection) else super().client_software()

    def client_port(self) -> int:
        """The client's port; 0 once the request is answered."""
        connection = self._connection
        return connection.client_port if isinstance(connection, Connection) else 0

    def is_wanted(self) -> bool:
        """Whether a client waits for the answer; False once the connection has closed."""
        connection = self._connection
        return connection is not None and not connection.is_closing

    def refuse(self, reason: str) -> None:
        """Closes the connection instead of answering. For use after the handler has returned."""
        connection = self._connection
        assert connection is not None, "a request was answered twice"
        self._connection = None
        if self.charge is not None:
            self.charge.settle(self._route, None)
        connection.refuse(reason)

    def fail_undecoded(self, frame: bytes, error: KafkaError) -> None:
        """:meth:`fail` for a request to forward, which is not decoded yet. If it can't be, closes the connection."""
        try:
            request, _ = decoder(api(self.api_key).request_class(), self.api_version)(
                memoryview(frame), self._route.decode_head(memoryview(frame))[2]
            )
        except ProtocolError as problem:
            self.refuse(str(FaultyFrame(memoryview(frame), problem, self.client_id)))
            return
        self.fail(request, error)

    def fail(self, request: Any, error: Exception) -> None:
        """Answers that serving the request failed (``RequestHandlerHelper.handleError``).

        A later answer of the handler is dropped. If there was an answer already, nothing is sent.
        """
        connection = self._connection
        if connection is None:
            return
        self.keep = None  # an error is of this request only; the answer may have no error code that shows it
        code = error.error_code if isinstance(error, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR
        response = error_responses.error_response(self.api_key, self._route.response_version, request, code)
        if response is None:
            self.refuse(f"the request failed ({code.name}), and its client expects no answer")
        else:
            self(response)
        self._connection = _CLOSED_REPLY


class ClosedReply:
    """Replaces the connection after a request has failed, and drops what its handler sends later."""

    __slots__ = ()
    is_closing = True

    def answered(self, parts: list[Part] | None) -> None:
        """Drops the answer."""

    def mute(self, mute_ms: int) -> None:
        """Mutes nothing."""

    def refuse(self, reason: str) -> None:
        """Drops the reason."""


_CLOSED_REPLY = ClosedReply()


def answer_failure(connection: Connection, in_service: RequestInService, request: Any, error: Exception) -> None:
    """Answers a request whose handler raised ``error``. For a ConnectionRefusal, closes the connection instead."""
    if isinstance(error, ConnectionRefusal):
        connection.refuse(str(error))
        return
    if isinstance(error, Denial):
        in_service.fail(request, error)
        return
    logger.error(
        "%s version %d of client id %r at %s:%d failed",
        in_service.name,
        in_service.api_version,
        in_service.client_id,
        connection.client_host,
        connection.client_port,
        exc_info=error,
    )
    in_service.fail(request, error)
