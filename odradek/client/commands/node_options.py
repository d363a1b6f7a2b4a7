"""The options of commands that connect to brokers or controllers: ``--bootstrap-server``, ``--bootstrap-controller``.

Kafka's kafka-features and kafka-metadata-quorum take these options before the name of the action, kafka-cluster after
it. Here both places work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from .command_config import admin_settings, command_config_option
from .running import BOOTSTRAP_VARIABLE, DEFAULT_BOOTSTRAP_SERVER, run, timeout_option

Command = TypeVar("Command", bound=Callable[..., Any])
Admin = TypeVar("Admin")

PLACES = ("bootstrap_server", "bootstrap_controller", "command_config")


def node_options(function: Command, config_names: Sequence[str] = ("--command-config",)) -> Command:
    """Adds ``--bootstrap-server``, ``--bootstrap-controller`` and ``--command-config`` to a command.

    ``config_names``: all names of the latter.
    """
    server = click.option(
        "-b", "--bootstrap-server", metavar="HOST:PORT,...", help=f"Brokers; default {DEFAULT_BOOTSTRAP_SERVER}."
    )
    controller = click.option("-C", "--bootstrap-controller", metavar="HOST:PORT,...", help="Controllers, instead.")
    return server(controller(command_config_option(function, config_names)))


def action_options(function: Command, config_names: Sequence[str] = ("--command-config",)) -> Command:
    """Adds the same options and ``--timeout`` to an action, for options after its name."""
    return node_options(timeout_option(function), config_names)


def keep_options(context: click.Context, **given: str | None) -> None:
    """Keeps the options that were given before the action's name. :func:`given_options` reads them."""
    context.obj = given


def given_options(common: Mapping[str, Any]) -> dict[str, Any]:
    """The options before and after the action's name; those after it have precedence.

    Raises UsageError if there are both a bootstrap server and a bootstrap controller.
    """
    before: dict[str, Any] = click.get_current_context().obj or {}
    merged = {name: common.get(name) or before.get(name) for name in PLACES}
    if merged["bootstrap_server"] and merged["bootstrap_controller"]:
        raise click.UsageError("--bootstrap-controller and --bootstrap-server cannot be used together")
    return merged


def ask(
    common: Mapping[str, Any], make: Callable[[], Callable[..., Any]], work: Callable[[Any], Awaitable[int]]
) -> int:
    """Connects an admin client and runs ``work`` with it. ``make`` imports and returns the client's class."""
    import os

    options = given_options(common)
    environment = os.environ.get(BOOTSTRAP_VARIABLE) or DEFAULT_BOOTSTRAP_SERVER

    async def connected() -> int:
        settings = admin_settings(options["command_config"], common["timeout_ms"])
        server = options["bootstrap_server"] or environment
        async with make()(server, bootstrap_controllers=options["bootstrap_controller"], **settings._asdict()) as admin:
            return await work(admin)

    return run(connected)
