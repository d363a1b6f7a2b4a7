"""The arguments of a command that must not import click, declared once: as the fields of a NamedTuple, for argparse.

    class ServeOptions(NamedTuple):
        configuration: str | None = argument(nargs="?", help="the broker's configuration")
        overrides: list[str] = argument("--override", action="append", default=[], help="set one key")

    options = parse(parser, ServeOptions, arguments)    # after add_arguments(parser, ServeOptions)

The help lists the arguments in the order of the fields. ``odradek serve`` has no other imports before it knows that its
arguments are right. Other commands have :mod:`.command_options`.
"""

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

Arguments = TypeVar("Arguments", bound=tuple[Any, ...])


class Argument(NamedTuple):
    """An argument of a command, with the settings of ``add_argument``. Without names it is a positional one."""

    names: tuple[str, ...]
    settings: dict[str, Any]


def argument(*names: str, **settings: Any) -> Any:
    """Declares an argument, as the default of a NamedTuple's field. The command gets an instance of that NamedTuple."""
    return Argument(names, settings)


def add_arguments(parser: argparse.ArgumentParser, arguments: type[Any]) -> None:
    """Adds the arguments that the NamedTuple declares, in the order of its fields."""
    for name, declared in arguments._field_defaults.items():
        if declared.names:
            parser.add_argument(*declared.names, dest=name, **declared.settings)
        else:
            parser.add_argument(name, **declared.settings)


def parse(parser: argparse.ArgumentParser, arguments: type[Arguments], texts: Sequence[str]) -> Arguments:
    """The values of a command line. Ends the process with exit code 2 for wrong usage, 0 for ``--help``."""
    return arguments(**vars(parser.parse_args(texts)))
