"""An action: first what it would do and the command line that does the same, then, confirmed, the action itself."""

import shlex
from collections.abc import Awaitable, Callable, Sequence
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


def command(options: Sequence[str], name: str, *words: str | Sequence[str]) -> str:
    """``odradek NAME`` with the options of the connection and words; a sequence of words is added as it is. Every word
    is quoted for a POSIX shell, so that a name cannot add a command."""
    flat = [part for word in words for part in ([word] if isinstance(word, str) else word)]
    return shlex.join(["odradek", name, *options, *flat])


def piped(text: str, line: str) -> str:
    """A command that reads one line of text from its standard input."""
    return f"printf '%s\\n' {shlex.quote(text)} | {line}"
