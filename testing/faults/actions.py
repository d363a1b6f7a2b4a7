"""What a fault does with a request that it meets.

Owns: the order of handler and fault. Never does: choosing requests. Source: ours; Kafka's clients test against
``MockClient`` and librdkafka against its mock cluster in this way.
"""

import asyncio
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...broker.dispatch.error_responses import error_response
from ...broker.dispatch.request import ConnectionRefusal
from ...broker.dispatch.served import Handler
from ...broker.dispatch.wrapped_reply import RefusingReply, WrappedReply
from ...protocol.errors import ErrorCode
from .fault import Hold, RequestFault
from .selection import Divider, join

Steps = Iterator[object] | None
NOT_MET = object()
"""What an action returns if the fault doesn't concern the request after all."""


class Call(NamedTuple):
    """A request on its way to its handler."""

    api_key: int
    handle: Handler
    broker: Any
    request: Any
    context: Any
    reply: Any

    def serve(self, request: Any = None, reply: Any = None) -> Steps:
        """Serves it, or another request in its place, with its reply function or another."""
        return self.handle(
            self.broker,
            self.request if request is None else request,
            self.context,
            self.reply if reply is None else reply,
        )


Action = Callable[[Call, Divider, RequestFault], Any]
"""Serves a request that a fault may concern: returns the handler's steps, None, or :data:`NOT_MET`."""


def fail(call: Call, divider: Divider, fault: RequestFault, error: ErrorCode) -> Any:
    """Answers with an error, in the items that are meant; the others are served."""
    if divider.is_known_by_the_answer(call.request):
        return call.serve(reply=ChangedReply(call.reply, functools.partial(_override, divider, fault, error)))
    meant, others = divider.divide(call.request)
    if meant is None or not fault.note():
        return NOT_MET
    failed: Any = error_response(call.api_key, call.context.api_version, meant, error)
    if failed is None:
        raise ConnectionRefusal(f"{fault.description}, and the request wants no answer")
    if others is None:
        if meant is not call.request and hasattr(failed, "error_code"):
            failed.error_code = ErrorCode.NONE  # the error belongs to the items
        call.reply(failed)
        return None
    return call.serve(others, ChangedReply(call.reply, lambda served: join(call.api_key, served, failed)))


def _override(divider: Divider, fault: RequestFault, error: ErrorCode, response: Any) -> Any:
    if not fault.is_over and divider.override(response, error):
        fault.note()
    return response


def disconnect(call: Call, divider: Divider, fault: RequestFault, served: bool) -> Any:
    """Closes the connection instead of answering. ``served``: the request is carried out before."""
    if not _is_met(call, divider, fault):
        return NOT_MET
    reason = f"{fault.description}, as the test wants"
    if not served:
        raise ConnectionRefusal(reason)
    return call.serve(reply=RefusingReply(call.reply, reason))


def delay(call: Call, divider: Divider, fault: RequestFault, delay_ms: int) -> Any:
    """Serves the request, and answers later."""
    if not _is_met(call, divider, fault):
        return NOT_MET
    timers = call.broker.timers
    return call.serve(reply=LaterReply(call.reply, lambda answer: timers.schedule(delay_ms, answer)))


def hold(call: Call, divider: Divider, fault: RequestFault) -> Any:
    """Serves the request, and answers when the test says so."""
    assert isinstance(fault, Hold)
    if not _is_met(call, divider, fault):
        return NOT_MET
    loop = asyncio.get_running_loop()
    return call.serve(reply=LaterReply(call.reply, lambda answer: fault.keep(functools.partial(_send, loop, answer))))


def _send(loop: asyncio.AbstractEventLoop, answer: Callable[[], object]) -> None:
    """Sends an answer, from any thread. Does nothing if the broker has ended: the connection is gone, too."""
    try:
        loop.call_soon_threadsafe(answer)
    except RuntimeError:
        if not loop.is_closed():
            raise


def change_response(call: Call, divider: Divider, fault: RequestFault, change: Callable[[Any], Any]) -> Any:
    """Serves the request, and answers what ``change`` makes of the response."""
    if not _is_met(call, divider, fault):
        return NOT_MET
    return call.serve(reply=ChangedReply(call.reply, change))


def change_request(call: Call, divider: Divider, fault: RequestFault, change: Callable[[Any], Any]) -> Any:
    """Serves what ``change`` makes of the request."""
    if not _is_met(call, divider, fault):
        return NOT_MET
    changed = change(call.request)
    return call.serve(call.request if changed is None else changed)


def _is_met(call: Call, divider: Divider, fault: RequestFault) -> bool:
    return divider.divide(call.request)[0] is not None and fault.note()


class ChangedReply(WrappedReply):
    """Answers what a function makes of the response, or the response if the function returns None."""

    __slots__ = ("_change",)

    def __init__(self, reply: Any, change: Callable[[Any], Any]) -> None:
        super().__init__(reply)
        self._change = change

    def __call__(self, response: Any) -> None:
        """Changes and answers."""
        if response is not None:
            changed = self._change(response)
            response = response if changed is None else changed
        self._reply(response)


class LaterReply(WrappedReply):
    """Hands the answer to a function that sends it later."""

    __slots__ = ("_later",)

    def __init__(self, reply: Any, later: Callable[[Callable[[], None]], object]) -> None:
        super().__init__(reply)
        self._later = later

    def __call__(self, response: Any) -> None:
        """Keeps the answer for later."""
        self._later(functools.partial(self._reply, response))
