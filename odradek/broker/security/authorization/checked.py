"""The result of an authorization check: the part of a request that may be served. Pure."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.protocol.common.steps import Steps

if TYPE_CHECKING:
    from .request_authorizer import RequestAuthorizer


class Checked(NamedTuple):
    """The part of a request that may be served, and how the answer is completed.

    ``request`` is None if nothing may be served. ``complete`` gets the handler's response, or None if nothing was
    served, and returns the response for the client; if ``complete`` is None, the handler's response is complete.
    ``refusal``: if set, the connection is closed with this reason when the handler answers.
    """

    request: Any
    complete: Callable[[Any], Any] | None = None
    refusal: str | None = None

    def completed(self, response: Any) -> Any:
        """The response for the client."""
        return response if self.complete is None else self.complete(response)


Check = Callable[["RequestAuthorizer", Any], Steps[Checked]]
"""Checks a request, which it may change. Raises Denial if the whole request is denied."""

Passes = Callable[["RequestAuthorizer", Any], bool]
"""A quick test before the check, which costs three times as much. True if the request is small, is allowed as a whole,
and its answer needs no completion. It changes and logs nothing. If it is False, the check decides."""


def at_once(checked: Checked) -> Steps[Checked]:
    """Turns a result into steps, for a check that needs none."""
    yield from ()
    return checked
