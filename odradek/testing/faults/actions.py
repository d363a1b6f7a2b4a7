"""The actions of faults: what each kind of fault does with a request.

Owns: whether the fault or the request's handler acts first. Never does: choosing requests. Source: ours; Kafka's
clients test against ``MockClient`` and librdkafka against its mock cluster in this way.
"""

import asyncio
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from odradek.broker.dispatch.error_responses import error_response
from odradek.broker.dispatch.request import ConnectionRefusal
from odradek.broker.dispatch.served import Handler
from odradek.broker.dispatch.wrapped_reply import RefusingReply, WrappedReply
from odradek.protocol.codec import decode, encode
from odradek.protocol.errors import ErrorCode

from .fault import Hold, RequestFault
from .selection import Divider, join

Steps = Iterator[object] | None
NOT_MET = object()
"""Returned by an action if the fault does not apply to the request: the next fault is tried."""


class Call(NamedTuple):
    """A request on its way to its handler."""

    api_key: int
    handle: Handler
    broker: Any
    request: Any
    context: Any
    reply: Any

    def serve(self, request: Any = None, reply: Any = None) -> Steps:
        """Calls the handler, with ``request`` and ``reply`` in place of the call's own if they are given."""
        return self.handle(
            self.broker,
            self.request if request is None else request,
            self.context,
            self.reply if reply is None else reply,
        )


Action = Callable[[Call, Divider, RequestFault], Any]
"""Serves a request that a fault may apply to: returns the handler's steps, None, or :data:`NOT_MET`."""


def fail(call: Call, divider: Divider, fault: RequestFault, error: ErrorCode) -> Any:
    """Answers the selected items of the request (such as partitions) with an error, and serves the others."""
    if divider.is_known_by_the_answer(call.request):
        return call.serve(reply=ChangedReply(call.reply, functools.partial(_override, divider, fault, error)))
    meant, others = divider.divide(call.request)
    if meant is None or not fault.note():
        return NOT_MET
    failed: Any = error_response(call.api_key, call.context.api_version, meant, error)
    if failed is None:
        raise ConnectionRefusal(f"{fault.description}, but the request expects no answer")
    if others is None:
        if meant is not call.request and hasattr(failed, "error_code"):
            failed.error_code = ErrorCode.NONE  # only items were selected: the error stands in them
        call.reply(failed)
        return None
    return call.serve(others, ChangedReply(call.reply, lambda served: join(call.api_key, served, failed)))


def _override(divider: Divider, fault: RequestFault, error: ErrorCode, response: Any) -> Any:
    if not fault.is_over and divider.override(response, error):
        fault.note()
    return response


def disconnect(call: Call, divider: Divider, fault: RequestFault, served: bool) -> Any:
    """Closes the connection instead of answering. ``served``: the request is served first."""
    if not _is_met(call, divider, fault):
        return NOT_MET
    reason = f"{fault.description}, as the test requested"
    if not served:
        raise ConnectionRefusal(reason)
    return call.serve(reply=RefusingReply(call.reply, reason))


def delay(call: Call, divider: Divider, fault: RequestFault, delay_ms: int) -> Any:
    """Serves the request at once, and answers ``delay_ms`` after it was served."""
    if not _is_met(call, divider, fault):
        return NOT_MET
    timers = call.broker.timers
    return call.serve(reply=LaterReply(call.reply, lambda answer: timers.schedule(delay_ms, answer)))


def hold(call: Call, divider: Divider, fault: RequestFault, served: bool) -> Any:
    """Keeps the answer until the test releases it (:meth:`Hold.release`). Serves the request before that if ``served``,
    otherwise after it.
    """
    assert isinstance(fault, Hold)
    if not _is_met(call, divider, fault):
        return NOT_MET
    loop = asyncio.get_running_loop()
    if served:
        later = LaterReply(call.reply, lambda answer: fault.keep(functools.partial(_send, loop, answer)))
        return call.serve(reply=later)
    request = _copy(call)
    begin = functools.partial(call.reply.run_steps, request, _steps_of(call, request))
    fault.keep(functools.partial(_send, loop, begin))
    return None


def _copy(call: Call) -> Any:
    """A request whose records stay valid after this turn of the event loop."""
    version = call.context.api_version
    return decode(type(call.request), version, encode(call.request, version))[0]


def _steps_of(call: Call, request: Any) -> Iterator[object]:
    """Serves a request, when the first step is asked for."""
    yield from call.serve(request) or ()


def _send(loop: asyncio.AbstractEventLoop, answer: Callable[[], object]) -> None:
    """Sends an answer, from any thread. Does nothing if the broker's loop is closed: its connections are, too."""
    try:
        loop.call_soon_threadsafe(answer)
    except RuntimeError:
        if not loop.is_closed():
            raise


def change_response(call: Call, divider: Divider, fault: RequestFault, change: Callable[[Any], Any]) -> Any:
    """Serves the request, and passes the response through ``change`` before it is sent."""
    if not _is_met(call, divider, fault):
        return NOT_MET
    return call.serve(reply=ChangedReply(call.reply, change))


def change_request(call: Call, divider: Divider, fault: RequestFault, change: Callable[[Any], Any]) -> Any:
    """Passes the request through ``change``, then serves it. ``change`` may return None after a change in place."""
    if not _is_met(call, divider, fault):
        return NOT_MET
    changed = change(call.request)
    return call.serve(call.request if changed is None else changed)


def _is_met(call: Call, divider: Divider, fault: RequestFault) -> bool:
    return divider.divide(call.request)[0] is not None and fault.note()


class ChangedReply(WrappedReply):
    """A reply that passes the response through a function; None from the function means that it changed it in place."""

    __slots__ = ("_change",)

    def __init__(self, reply: Any, change: Callable[[Any], Any]) -> None:
        super().__init__(reply)
        self._change = change

    def __call__(self, response: Any) -> None:
        """Changes the response and sends it. No response (None) is passed on unchanged."""
        if response is not None:
            changed = self._change(response)
            response = response if changed is None else changed
        self._reply(response)


class LaterReply(WrappedReply):
    """A reply that hands the sending of the answer to a function, which does it later."""

    __slots__ = ("_later",)

    def __init__(self, reply: Any, later: Callable[[Callable[[], None]], object]) -> None:
        super().__init__(reply)
        self._later = later

    def __call__(self, response: Any) -> None:
        """Calls the function with a callable that sends the response."""
        self._later(functools.partial(self._reply, response))
