"""What connections tell the metrics: how long requests wait for their handlers, and answers for their readers.

Owns: the API of the answer that was given last to a connection. Never does: keeping counts. A broker without metrics
does not use this module, and with metrics only a request or an answer that waits calls it. Source:
``RequestChannel.Request.updateRequestMetrics``, which reads the clock six times for each request.
"""

import asyncio
from collections.abc import Callable
from struct import Struct
from time import perf_counter_ns
from typing import Protocol

from .response_writer import EncryptedResponseWriter, Part, ResponseWriter, is_encrypted

KIND = Struct(">I")


class WaitCounter(Protocol):
    """One kind of wait of an API (:class:`..metrics.waits.Waits`)."""

    def begin(self) -> None:
        """A wait begins."""

    def end(self, ns: int) -> None:
        """A wait that has begun is over."""

    def note(self, ns: int) -> None:
        """A whole wait."""


class ApiWaits(Protocol):
    """The waits of an API (:class:`..metrics.request_meters.ApiMeter`)."""

    @property
    def queue_waits(self) -> WaitCounter:
        """Of requests, for their handlers."""

    @property
    def response_queue_waits(self) -> WaitCounter:
        """Of answers, for others of the same connection."""

    @property
    def send_waits(self) -> WaitCounter:
        """Of answers, for their readers."""


class Waiting:
    """The waits on all connections of the broker."""

    def __init__(self, clock_ns: Callable[[], int] = perf_counter_ns) -> None:
        self.clock_ns = clock_ns
        self.apis: dict[int, ApiWaits] = {}
        """The APIs that were requested, by API key and version as one number (:data:`KIND`)."""
        self.answering: ApiWaits | None = None
        """The API of the answer that was given last to a connection."""

    def waited(self, frame: memoryview, ns: int) -> None:
        """The handler of a request has begun, ``ns`` after the request had arrived."""
        api = self.apis.get(KIND.unpack_from(frame)[0]) if len(frame) >= KIND.size else None
        if api is not None:
            api.queue_waits.note(ns)

    def writer_of(self, transport: asyncio.Transport) -> ResponseWriter:
        """The sending half of a connection, which measures how long answers wait."""
        return TimedEncryptedWriter(transport, self) if is_encrypted(transport) else TimedWriter(transport, self)


class TimedWriter(ResponseWriter):
    """Measures how long answers wait, from the events that it gets anyway.

    An answer waits for its reader from the moment at which the transport holds more of it than CHUNK_BYTES, until the
    transport has all of it and holds at most that much. (Whether the kernel has taken a small answer could only be seen
    by asking the transport after each one.)
    """

    __slots__ = ("_gathered_for", "_sending", "_since_ns", "_waiting")

    def __init__(self, transport: asyncio.Transport, waiting: Waiting) -> None:
        super().__init__(transport)
        self._waiting = waiting
        self._gathered_for: list[tuple[ApiWaits, int]] | None = None
        """The APIs of the gathered answers, and when each was given."""
        self._sending: WaitCounter | None = None
        """The wait of the answer that waits for its reader."""
        self._since_ns = 0

    def flush(self) -> None:
        """As in the base class. Ends the waits of the gathered answers."""
        super().flush()
        gathered, self._gathered_for = self._gathered_for, None
        if gathered:
            now_ns = self._waiting.clock_ns()
            for api, since_ns in gathered:
                api.response_queue_waits.note(now_ns - since_ns)

    def _was_gathered(self, parts: list[Part]) -> bool:
        was_gathered = super()._was_gathered(parts)
        api = self._waiting.answering
        if was_gathered and api is not None:
            if self._gathered_for is None:
                self._gathered_for = []
            self._gathered_for.append((api, self._waiting.clock_ns()))
        return was_gathered

    def pause(self) -> None:
        """As in the base class: an answer begins to wait, or waits on."""
        super().pause()
        api = self._waiting.answering
        if self._sending is None and api is not None:
            self._sending, self._since_ns = api.send_waits, self._waiting.clock_ns()
            self._sending.begin()

    def resume(self) -> bool:
        """As in the base class. Ends the wait if all of the answer is sent."""
        is_sent = super().resume()
        if not self.is_sending:
            self._end()
        return is_sent

    def close(self) -> None:
        """As in the base class. Ends the wait: as in Kafka, the request counts."""
        super().close()
        self._end()

    def _end(self) -> None:
        sending, self._sending = self._sending, None
        if sending is not None:
            sending.end(self._waiting.clock_ns() - self._since_ns)


class TimedEncryptedWriter(TimedWriter, EncryptedResponseWriter):
    """As :class:`TimedWriter`, for TLS."""

    __slots__ = ()
