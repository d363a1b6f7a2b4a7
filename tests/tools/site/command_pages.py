"""A page for each command of ``odradek``: the help of the command and of each of its subcommands.

The text is what ``--help`` prints, so a page has every option. Commands of click and of argparse are asked alike.
"""

import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from io import StringIO
from unittest.mock import patch

from odradek.__main__ import COMMANDS, KAFKA_TOOLS, run_command

COLUMNS = "100"
WITHOUT_A_LIST: dict[tuple[str, ...], tuple[str, ...]] = {("topics",): ("apply", "export")}
"""Subcommands that the help of their command has in its text only."""


def command_pages() -> dict[str, str]:
    """Name of a command -> its page, in the order of ``odradek --help``."""
    return {name: _page(name, about) for name, (_, about) in COMMANDS.items()}


def index() -> str:
    """The page that lists the commands."""
    rows = [f"| [odradek {name}]({name}.md) | {about} |" for name, (_, about) in COMMANDS.items()]
    text = "All options, as `--help` prints them. [The command line](../docs/commands.md) explains them with examples."
    return "\n".join(
        ["# Commands and their options", "", text, "", "| command | what it does |", "|---|---|", *rows, ""]
    )


def help_of(command: tuple[str, ...]) -> str:
    """What ``odradek COMMAND --help`` prints."""
    printed = StringIO()
    with patch.dict(os.environ, {"COLUMNS": COLUMNS}), redirect_stdout(printed), suppress(SystemExit):
        run_command([*command, "--help"])
    return printed.getvalue().rstrip()


def subcommands(command: tuple[str, ...], text: str) -> Iterator[tuple[str, ...]]:
    """The subcommands that the help of a command lists."""
    listed = re.split(r"^commands:\n", text, maxsplit=1, flags=re.IGNORECASE | re.MULTILINE)[1:]
    names = [name for part in listed for name in re.findall(r"^  (\S+)", part, re.MULTILINE)]
    for name in [*names, *WITHOUT_A_LIST.get(command, ())]:
        yield (*command, name)


def _page(name: str, about: str) -> str:
    tools = [f"`{tool}.sh`" for tool, command in sorted(KAFKA_TOOLS.items()) if command.split()[0] == name]
    kafkas = [f"In Apache Kafka: {', '.join(tools)}.", ""] if tools else []
    text = f"{about[0].upper()}{about[1:]}. [The command line](../docs/commands.md) explains it with examples."
    return "\n".join([f"# odradek {name}", "", text, "", *kafkas, *_sections((name,))])


def _sections(command: tuple[str, ...]) -> Iterator[str]:
    text = help_of(command)
    yield from ("```text", text, "```", "")
    for subcommand in subcommands(command, text):
        yield from (f"## odradek {' '.join(subcommand)}", "")
        yield from _sections(subcommand)
