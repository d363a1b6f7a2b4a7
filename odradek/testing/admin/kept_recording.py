"""The recording that was begun over the admin port, and its replay.

Owns: the one recording. Never does: HTTP. Invariant: an ended recording can be read until the next one begins.
"""

from typing import TYPE_CHECKING

from ..broker.in_process import InProcessBroker
from ..inspection import TIMEOUT_S
from ..traffic.recording import MAX_BYTES, Traffic
from .values import AdminPortError, Arguments, Json

if TYPE_CHECKING:
    from ..traffic.exchange import RecordedExchange
    from ..traffic.replay import ReplayResult


class Lines(str):
    """Text that is sent as it is, not encoded as a JSON string."""

    __slots__ = ()


class KeptRecording:
    """Records the requests to a broker, and replays recordings to it."""

    def __init__(self, broker: InProcessBroker) -> None:
        self._broker = broker
        self._traffic: Traffic | None = None

    def begin(self, arguments: Arguments) -> Json:
        """Begins a recording of at most ``max_bytes``, and drops the last one."""
        max_bytes = arguments.get("max_bytes", int, MAX_BYTES)
        arguments.refuse_others()
        self.end()
        self._traffic = self._broker.recorder.begin(max_bytes)
        return {}

    def end(self) -> Json:
        """Ends the recording. Does nothing if there is none."""
        if self._traffic is not None:
            self._broker.recorder.end(self._traffic)
        return {}

    def show(self, arguments: Arguments) -> Json:
        """The recorded requests with their answers, filtered by ``apis`` and ``client_id`` if they are given.

        With ``count``, first waits until that many requests of the one API in ``apis`` were answered.
        """
        apis, client_id = arguments.names("apis"), arguments.get("client_id", str)
        count, timeout_s = arguments.get("count", int), arguments.get("timeout_s", float, TIMEOUT_S)
        arguments.refuse_others()
        if count is not None:
            if len(apis) != 1:
                raise AdminPortError(400, "count needs exactly one API in apis")
            self.traffic.wait_for(apis[0], count, timeout_s=timeout_s)
        return [exchange_as(request) for request in self.traffic.requests(*apis, client_id=client_id)]

    def lines(self) -> Lines:
        """The recording as the text of a recording file (JSON lines)."""
        return Lines(self.traffic.text())

    def replay(self, arguments: Arguments) -> Json:
        """Replays ``recording``, the text of a recording file; without it, the last recording.

        Ends a recording that is going on.
        """
        text, ignore = arguments.get("recording", str), arguments.names("ignore")
        timeout_s = arguments.get("timeout_s", float, TIMEOUT_S)
        arguments.refuse_others()
        traffic = self.traffic if text is None else Traffic.parse(text, "recording")
        self.end()
        return result_as(traffic.replay(self._broker.bootstrap_servers, ignore=ignore, timeout_s=timeout_s))

    @property
    def traffic(self) -> Traffic:
        """The last recording. Raises AdminPortError (404) without one."""
        if self._traffic is None:
            raise AdminPortError(404, "nothing was recorded; POST /recording starts a recording")
        return self._traffic


def exchange_as(one: "RecordedExchange") -> dict[str, Json]:
    """A recorded request with its answer, as JSON."""
    return {
        "number": one.number,
        "api": one.api,
        "version": one.version,
        "connection": one.connection,
        "client_id": one.client_id,
        "request": one.request,
        "answer": one.response,
        "errors": one.errors,
        "closed": one.closed,
        "time_ms": one.time_ms,
        "answer_ms": one.answer_ms,
    }


def result_as(result: "ReplayResult") -> dict[str, Json]:
    """The result of a replay as JSON; ``text`` is the same in readable form."""
    return {
        "compared": result.compared,
        "differences": [difference._asdict() for difference in result.differences],
        "skipped": [
            {"number": exchange.number, "request": str(exchange), "reason": reason}
            for exchange, reason in result.skipped
        ],
        "text": str(result),
    }
