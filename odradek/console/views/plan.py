"""An action: first what it would do, then, confirmed, the action itself."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from ..arguments import ViewArguments
from ..context import Json


class ActionPlan(NamedTuple):
    """What an action does, and how to do it."""

    preview: list[str]
    """What changes, a sentence each."""
    command: str
    """The command line that does the same."""
    warnings: list[str]
    do: Callable[[], Awaitable[str]]
    """Does it, and returns a sentence that says so. Raises KafkaError, ClientError."""


async def carried_out(arguments: ViewArguments, plan: ActionPlan) -> Json:
    """The preview of an action, or with ``confirm`` the action and what it did."""
    if arguments.is_confirmed:
        return {"done": await plan.do()}
    return {"preview": list(plan.preview), "command": plan.command, "warnings": list(plan.warnings)}
