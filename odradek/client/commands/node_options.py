"""The options of commands that connect to brokers or controllers: ``--bootstrap-server``, ``--bootstrap-controller``.

Kafka's kafka-features and kafka-metadata-quorum take these options before the name of the action, kafka-cluster after
it. Here both places work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import click

from odradek.protocol.common.command_options import option
from odradek.protocol.common.lazy_imports import lazy_imports

from .command_config import admin_settings, command_config_option, command_property_option
from .running import BOOTSTRAP_VARIABLE, DEFAULT_BOOTSTRAP_SERVER, run

with lazy_imports:
    import os


@dataclass(frozen=True, kw_only=True)
class NodeOptions:
    """The nodes' addresses, and the settings of the admin client."""

    bootstrap_server: str | None = option(
        "-b", "--bootstrap-server", metavar="HOST:PORT,...", help=f"Brokers; default {DEFAULT_BOOTSTRAP_SERVER}."
    )
    bootstrap_controller: str | None = option(
        "-C", "--bootstrap-controller", metavar="HOST:PORT,...", help="Controllers, instead."
    )
    command_config: str | None = command_config_option()
    command_property: None = command_property_option()


def keep_options(options: NodeOptions) -> None:
    """Keeps the options that were given before the action's name. :func:`given_options` reads them."""
    click.get_current_context().obj = options


def given_options(after: NodeOptions) -> NodeOptions:
    """The options before and after the action's name; those after it have precedence.

    Raises UsageError if there are both a bootstrap server and a bootstrap controller.
    """
    before: NodeOptions = click.get_current_context().obj or NodeOptions()
    merged = NodeOptions(
        bootstrap_server=after.bootstrap_server or before.bootstrap_server,
        bootstrap_controller=after.bootstrap_controller or before.bootstrap_controller,
        command_config=after.command_config or before.command_config,
    )
    if merged.bootstrap_server and merged.bootstrap_controller:
        raise click.UsageError("--bootstrap-controller and --bootstrap-server cannot be used together")
    return merged


def ask(
    after: NodeOptions,
    timeout_ms: int,
    make: Callable[[], Callable[..., Any]],
    work: Callable[[Any], Awaitable[int]],
) -> int:
    """Connects an admin client and runs ``work`` with it. ``make`` imports and returns the client's class."""
    options = given_options(after)
    environment = os.environ.get(BOOTSTRAP_VARIABLE) or DEFAULT_BOOTSTRAP_SERVER

    async def connected() -> int:
        settings = admin_settings(options.command_config, timeout_ms)
        server = options.bootstrap_server or environment
        async with make()(server, bootstrap_controllers=options.bootstrap_controller, **settings._asdict()) as admin:
            return await work(admin)

    return run(connected)
