"""Wraps a handler with the authorization check of its API: answers denied resources, passes the rest to the handler.

Owns: the order of check, handler and completed answer. Never does: deciding. Source: ``KafkaApis``, where each handler
begins with its check.

A broker without an authorizer does not use this module, so it has no extra cost.
"""

from collections.abc import Callable, Iterator
from typing import Any

from odradek.protocol.common.steps import run_to_end

from ...dispatch.request import ConnectionRefusal, Reply, RequestContext
from ...dispatch.served import Handler
from ...dispatch.wrapped_reply import RefusingReply, WrappedReply
from ...metadata.publisher.published import PublishedMetadata
from .checked import Check, Checked
from .checks import check_of, passes_of
from .request_authorizer import RequestAuthorizer
from .standard_authorizer import StandardAuthorizer


class Guard:
    """Guards the handlers of a broker."""

    def __init__(
        self,
        authorizer: StandardAuthorizer,
        metadata: PublishedMetadata,
        creates_topics: bool,
        ask_themselves: frozenset[int] = frozenset(),
    ) -> None:
        """``metadata``: for the topic names of topic ids. ``creates_topics``: see :class:`RequestAuthorizer`.
        ``ask_themselves``: APIs whose handlers do the checks, since the broker forwards most of such a request to the
        controllers."""
        self._ask_themselves = ask_themselves
        self._authorizer = authorizer
        self._metadata = metadata
        self._creates_topics = creates_topics

    def access_of(self, context: RequestContext) -> RequestAuthorizer:
        """The authorization of one request."""
        return RequestAuthorizer(self._authorizer, self._metadata.image, context, self._creates_topics)

    def __call__(self, api_key: int, handle: Handler) -> Handler:
        """Returns a handler that runs the check of its API first. Raises KeyError for an API without a check: a bug."""
        check = None if api_key in self._ask_themselves else check_of(api_key)
        passes = None if check is None else passes_of(api_key)

        def guarded(broker: Any, request: Any, context: Any, reply: Any) -> Iterator[object] | None:
            authorizer = context.access = self.access_of(context)
            if check is None or (passes is not None and passes(authorizer, request)):
                return handle(broker, request, context, reply)
            if context.in_slices:
                return _in_slices(check, handle, authorizer, broker, request, context, reply)
            return _serve(run_to_end(check(authorizer, request)), handle, broker, context, reply)

        return guarded


def _in_slices(
    check: Check,
    handle: Handler,
    authorizer: RequestAuthorizer,
    broker: Any,
    request: Any,
    context: RequestContext,
    reply: Reply[Any],
) -> Iterator[object]:
    checked = yield from check(authorizer, request)
    steps = _serve(checked, handle, broker, context, reply)
    if steps is not None:
        yield from steps


def _serve(
    checked: Checked, handle: Handler, broker: Any, context: RequestContext, reply: Reply[Any]
) -> Iterator[object] | None:
    if checked.refusal is not None:
        if checked.request is None:
            raise ConnectionRefusal(checked.refusal)
        reply = RefusingReply(reply, checked.refusal)
    elif checked.request is None:
        assert checked.complete is not None, "a check that lets nothing through answers"
        reply(checked.complete(None))
        return None
    elif checked.complete is not None:
        reply = CompletedReply(reply, checked.complete)
    return handle(broker, checked.request, context, reply)


class CompletedReply(WrappedReply):
    """Adds the answers for denied resources to the handler's answer."""

    __slots__ = ("_complete",)

    def __init__(self, reply: Reply[Any], complete: Callable[[Any], Any]) -> None:
        super().__init__(reply)
        self._complete = complete

    def __call__(self, response: Any) -> None:
        """Completes the response and sends it."""
        self._reply(self._complete(response))
