"""Records the requests to a broker and the answers, as clients send and receive them: outside of the faults.

Owns: the recordings in progress, and the numbers of their connections. Never does: changing a request or an answer.
Invariants: without a recording a request costs one comparison. Requests of the helpers of :mod:`..inspection` are not
recorded. Any thread may begin and end recordings; the broker's thread reads the list.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from odradek.broker.dispatch.error_responses import error_response
from odradek.broker.dispatch.request import ConnectionRefusal
from odradek.broker.dispatch.served import Handler
from odradek.broker.dispatch.wrapped_reply import WrappedReply
from odradek.protocol.codec import encode_parts
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.structure import Message

from ..faults.selection import HELPERS_CLIENT_ID
from .documents import request_document, response_document
from .exchange import LazyDocument, RecordedExchange
from .recording import MAX_BYTES, Traffic

Noted = list[tuple[Traffic, RecordedExchange]]
"""One request: each recording that has it, with its exchange there."""


class Recorder:
    """The recordings of one broker."""

    def __init__(self, clock_ms: Callable[[], int]) -> None:
        """``clock_ms``: the broker's wall clock, in ms since the epoch."""
        self._clock_ms = clock_ms
        self._recordings: tuple[Traffic, ...] = ()
        self._connections: dict[tuple[int, int], int] = {}

    @property
    def is_recording(self) -> bool:
        """Whether a recording is under way."""
        return bool(self._recordings)

    @contextmanager
    def record(self, max_bytes: int = MAX_BYTES) -> Iterator[Traffic]:
        """Records during a ``with`` block; yields the recording."""
        traffic = self.begin(max_bytes)
        try:
            yield traffic
        finally:
            self.end(traffic)

    def begin(self, max_bytes: int = MAX_BYTES) -> Traffic:
        """Begins a recording, which goes on until :meth:`end`; it keeps at most ``max_bytes`` bytes."""
        traffic = Traffic(max_bytes)
        self._recordings = (*self._recordings, traffic)
        return traffic

    def end(self, traffic: Traffic) -> None:
        """Ends a recording. Does nothing if it has ended."""
        self._recordings = tuple(recording for recording in self._recordings if recording is not traffic)
        if not self._recordings:
            self._connections = {}

    def intercept(self, api_key: int, handle: Handler) -> Handler:
        """Wraps the handler of an API so that its requests and answers are recorded."""

        def serve(broker: Any, request: Any, context: Any, reply: Any) -> Iterator[object] | None:
            # The request is None if its version is unknown: it could not be decoded, so it can't be recorded.
            if self._recordings and request is not None and context.client_id != HELPERS_CLIENT_ID:
                return self._serve(handle, broker, request, context, reply)
            return handle(broker, request, context, reply)

        return serve

    def _serve(self, handle: Handler, broker: Any, request: Any, context: Any, reply: Any) -> Iterator[object] | None:
        body = encoded(request, context.api_version)
        recorded = RecordedReply(reply, self._clock_ms, context, self._note(broker, context, body), request)
        return recorded.watched(lambda: handle(broker, request, context, recorded))

    def _note(self, broker: Any, context: Any, body: bytes) -> Noted:
        key, version = context.api_key, context.api_version
        connection = self._connections.setdefault((id(broker), context.connection_id), len(self._connections) + 1)
        noted: Noted = []
        for traffic in self._recordings:
            sent = LazyDocument(partial(request_document, key, version, body))
            exchange = RecordedExchange(0, connection, context.client_id, key, version, context.now_ms, 0, sent)
            if traffic.note_request(exchange, len(body)):
                noted.append((traffic, exchange))
        return noted


class RecordedReply(WrappedReply):
    """A reply function that records the answer before it sends it."""

    __slots__ = ("_clock_ms", "_context", "_noted", "_request")

    def __init__(self, reply: Any, clock_ms: Callable[[], int], context: Any, noted: Noted, request: Any) -> None:
        super().__init__(reply)
        self._clock_ms = clock_ms
        self._context = context
        self._noted = noted
        self._request = request

    def __call__(self, response: Any) -> None:
        """Records the answer and sends it. None: the client expects no answer."""
        self._note(response)
        self._reply(response)

    def refuse(self, reason: str) -> None:
        """Records that the connection is closed, and closes it."""
        self._note_closed(reason)
        super().refuse(reason)

    def run_steps(self, request: object, steps: Iterator[object]) -> None:
        """Runs further steps of the handler; an error that they raise is recorded as the answer."""
        super().run_steps(request, self._watched_steps(steps))

    def watched(self, serve: Callable[[], Iterator[object] | None]) -> Iterator[object] | None:
        """Runs the handler. If it raises, records the error response for the client (``RequestInService.fail``)."""
        try:
            steps = serve()
        except Exception as error:
            self._note_error(error)
            raise
        return None if steps is None else self._watched_steps(steps)

    def _watched_steps(self, steps: Iterator[object]) -> Iterator[object]:
        try:
            yield from steps
        except Exception as error:
            self._note_error(error)
            raise

    def _note_error(self, error: Exception) -> None:
        if isinstance(error, ConnectionRefusal):
            self._note_closed(str(error))
            return
        code = error.error_code if isinstance(error, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR
        response = error_response(self._context.api_key, self._context.api_version, self._request, code)
        if response is None:
            self._note_closed(f"the request failed ({code.name}), and its client expects no answer")
        else:
            self._note(response)

    def _note(self, response: Message | None) -> None:
        key, version = self._context.api_key, self._context.api_version
        body = b"" if response is None else encoded(response, version)
        answer = None if response is None else LazyDocument(partial(response_document, key, version, body))
        for traffic, exchange in self._noted:
            if exchange.answer_step is None:
                traffic.note_answer(exchange, answer, len(body), self._clock_ms())

    def _note_closed(self, reason: str) -> None:
        for traffic, exchange in self._noted:
            if exchange.answer_step is None:
                traffic.note_closed(exchange, reason, self._clock_ms())


def encoded(message: Message, version: int) -> bytes:
    """The encoded bytes of a message. Parts that are regions of files are read into memory."""
    parts = encode_parts(message, version)
    return b"".join(part.read() if hasattr(part, "read") else part for part in parts)
