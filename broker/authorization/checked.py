"""What a check leaves of a request. Pure."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ...protocol.steps import Steps

if TYPE_CHECKING:
    from .asking import Asking


class Checked(NamedTuple):
    """The part of a request that may be served, and how the answer is completed.

    ``request`` None: nothing may be served. ``complete`` gets the handler's response, or None if nothing was served,
    and returns the response for the client; None: the handler's response is complete. ``refusal``: why the connection
    is closed instead of an answer, once the handler answers.
    """

    request: Any
    complete: Callable[[Any], Any] | None = None
    refusal: str | None = None

    def completed(self, response: Any) -> Any:
        """The response for the client."""
        return response if self.complete is None else self.complete(response)


Check = Callable[["Asking", Any], Steps[Checked]]
"""Asks what a request needs. It may change the request, which belongs to it. Raises Denial if all of it is denied."""

Passes = Callable[["Asking", Any], bool]
"""Whether a small request is allowed as a whole, and its answer needs no completion. It changes and logs nothing;
after False the check decides. It costs a third of the check."""


def at_once(checked: Checked) -> Steps[Checked]:
    """The result of a check that needs no steps."""
    yield from ()
    return checked
