"""Commands whose options and actions may be abbreviated, as those of Kafka's scripts that use argparse4j.

An abbreviation is a beginning that no other option of the command, or no other action, has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click


def meant(name: str, names: Iterable[str]) -> str | None:
    """The only one of ``names`` that begins with ``name``; None if there are several or none."""
    found = [candidate for candidate in names if candidate.startswith(name)]
    return found[0] if len(found) == 1 else None


class _Options(dict[str, Any]):
    """The long options of a parser, also found by an abbreviation."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and meant(name, self) is not None)

    def __missing__(self, name: str) -> Any:
        found = meant(name, self)
        if found is None:
            raise KeyError(name)
        return self[found]


class AbbreviatedCommand(click.Command):
    """A command whose options may be abbreviated."""

    def make_parser(self, ctx: click.Context) -> Any:
        """The parser, which also finds abbreviated options."""
        parser = super().make_parser(ctx)
        parser._long_opt = _Options(parser._long_opt)
        return parser


class AbbreviatedGroup(AbbreviatedCommand, click.Group):
    """A command with actions. Its options, its actions and their options may be abbreviated."""

    command_class = AbbreviatedCommand

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The action of a name or of its abbreviation."""
        return self.commands.get(cmd_name) or self.commands.get(meant(cmd_name, self.commands) or "")
