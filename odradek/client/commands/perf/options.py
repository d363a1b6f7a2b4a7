"""Functions for all performance tools: the broker's address, deprecated flags, flags with several values, histogram."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from odradek.protocol.common.command_options import option

from ..command_config import given_settings
from ..latencies import Latencies
from ..running import BOOTSTRAP_VARIABLE, DEFAULT_BOOTSTRAP_SERVER

BOOTSTRAP = "bootstrap.servers"


def bootstrap_option() -> Any:
    """``--bootstrap-server``, as a field of a tool's options."""
    return option(
        "--bootstrap-server",
        envvar=BOOTSTRAP_VARIABLE,
        default=DEFAULT_BOOTSTRAP_SERVER,
        show_envvar=True,
        metavar="HOST:PORT,...",
        help="One or more brokers of the cluster; takes precedence over bootstrap.servers of the settings.",
    )


def bootstrap_servers(flag: str, config: str | None, properties: tuple[str, ...]) -> str:
    """The broker's address: the flag, then bootstrap.servers of the settings, then the flag's default."""
    context = click.get_current_context()
    if context.get_parameter_source("bootstrap_server") is ParameterSource.COMMANDLINE:
        return flag
    setting = given_settings(config, properties).get(BOOTSTRAP)
    return flag if setting is None else setting.text


def newer(old: object, new: object, old_flag: str, new_flag: str) -> None:
    """Prints a warning if the deprecated flag was given. Raises UsageError if the new flag was given, too."""
    if not old:
        return
    if new:
        raise click.UsageError(f"{new_flag} and {old_flag} cannot be specified together.")
    click.echo(
        f"Option {old_flag} has been deprecated and will be removed in a future version. Use {new_flag} instead.",
        err=True,
    )


def one_value_a_flag(arguments: list[str], flags: tuple[str, ...]) -> list[str]:
    """Repeats a flag for each of its values: ``--props a=1 b=2`` becomes ``--props a=1 --props b=2``."""
    spread: list[str] = []
    flag: str | None = None
    for argument in arguments:
        if argument.startswith("-"):
            flag = argument if argument in flags else None
            if flag is None:
                spread.append(argument)
        elif flag is None:
            spread.append(argument)
        else:
            spread += [flag, argument]
    return spread


def print_histogram(latencies: Latencies) -> None:
    """Prints the histogram to standard error. Standard output has only the lines of Kafka's tool."""
    for line in latencies.histogram():
        click.echo(line, err=True)
