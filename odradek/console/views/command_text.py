"""The command line that does the same as an action or a view.

Pure. Every word is quoted for a POSIX shell, so a name cannot add a command.
"""

import shlex
from collections.abc import Sequence


def command(options: Sequence[str], name: str, *words: str | Sequence[str]) -> str:
    """``odradek NAME`` with the options of the connection and words; a sequence of words is added as it is."""
    flat = [part for word in words for part in ([word] if isinstance(word, str) else word)]
    return shlex.join(["odradek", name, *options, *flat])


def piped(text: str, line: str) -> str:
    """A command that reads one line of text from its standard input."""
    return f"printf '%s\\n' {shlex.quote(text)} | {line}"
