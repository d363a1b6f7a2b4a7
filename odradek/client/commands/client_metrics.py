"""``odradek client-metrics``: what ``kafka-client-metrics.sh`` does, with its flags and its output (KIP-714)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from odradek.protocol.common.command_options import flag, included, option, repeated, takes
from odradek.protocol.common.lazy_imports import lazy_imports

from .command_config import ConnectionOptions
from .kafka_command import KafkaCommand
from .running import exactly_one, main, run, timeout_option

with lazy_imports:
    import secrets

    from ..admin import configs

if TYPE_CHECKING:
    from ..admin.configs import ConfigAdmin

CLIENT_METRICS = "client-metrics"
SETTINGS = ("generate-name", "interval", "match", "metrics")
REFUSED = {"delete": SETTINGS, "describe": SETTINGS, "list": ("name", *SETTINGS)}
"""Source: ``ClientMetricsCommandOptions.checkArgs``."""


@dataclass(frozen=True, kw_only=True)
class ClientMetricsOptions:
    """The arguments of the command."""

    connection: ConnectionOptions = included(ConnectionOptions)
    alter: bool = flag("--alter", help="Make a subscription, or change the given settings of one.")
    delete: bool = flag("--delete", help="Remove the subscription of --name.")
    describe: bool = flag("--describe", help="Show the settings of --name, or of all subscriptions.")
    list_: bool = flag("--list", help="Show the names of all subscriptions.")
    name: str | None = option("--name", help="The name of the subscription.")
    generate_name: bool = flag(
        "--generate-name", help="With --alter: make a subscription whose name is a new random id."
    )
    interval: str | None = option(
        "--interval", metavar="MS", help='The interval in which clients push; "" restores the default.'
    )
    match: tuple[str, ...] = repeated(
        "--match",
        metavar="K=V,...",
        help="The clients, by regular expressions for client_id, client_instance_id, client_software_name, "
        'client_software_version, client_source_address, client_source_port; "" restores the default, all clients.',
    )
    metrics: tuple[str, ...] = repeated(
        "--metrics", metavar="PREFIX,...", help='Prefixes of metric names; "" restores none.'
    )
    timeout_ms: int = timeout_option()


@click.command(
    cls=KafkaCommand,
    refused=REFUSED,
    help="Show or change the client metrics subscriptions: which metrics clients push, how often, and which clients.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(ClientMetricsOptions)
def command(options: ClientMetricsOptions) -> int:
    """Checks the arguments and runs the action."""
    action = exactly_one(
        {"alter": options.alter, "delete": options.delete, "describe": options.describe, "list": options.list_}
    )
    check_name(action, options.name, options.generate_name)
    changes = changed_configs(options.interval, options.match, options.metrics)

    async def work() -> None:
        async with options.connection.admin(configs.ConfigAdmin, options.timeout_ms) as admin:
            if action == "list":
                for listed in await admin.list_config_resources(CLIENT_METRICS):
                    click.echo(listed)
            elif action == "describe":
                await describe_subscriptions(admin, options.name)
            elif action == "delete":
                await delete_subscription(admin, str(options.name))
            else:
                await alter_subscription(admin, options.name or random_name(), changes)

    return run(work)


def check_name(action: str, name: str | None, generate_name: bool) -> None:
    """Raises UsageError if the action lacks the name that it needs, or has both --name and --generate-name."""
    if action == "alter" and (name is None) != generate_name:
        raise click.UsageError("One of --name or --generate-name must be specified with --alter.")
    if action == "delete" and not name:
        raise click.UsageError("A client metrics resource name must be specified with --delete.")


def changed_configs(interval: str | None, match: tuple[str, ...], metrics: tuple[str, ...]) -> dict[str, str]:
    """The configurations that the flags set; an empty value restores the default."""
    changes = {}
    if interval is not None:
        changes["interval.ms"] = interval
    if match:
        changes["match"] = ",".join(match)
    if metrics:
        changes["metrics"] = ",".join(metrics)
    return changes


def random_name() -> str:
    """A random id as Kafka writes it: 22 letters of URL-safe base64, not beginning with ``-``."""
    while True:
        name = secrets.token_urlsafe(16)
        if not name.startswith("-"):
            return name


async def describe_subscriptions(admin: ConfigAdmin, name: str | None) -> None:
    """Prints the settings of one subscription, or of all."""
    existing = await admin.list_config_resources(CLIENT_METRICS)
    if name is not None and name not in existing:
        click.echo(f"The client metric resource {name} doesn't exist and doesn't have dynamic config.")
        return
    names = existing if name is None else [name]
    described = await admin.describe_configs(CLIENT_METRICS, names) if names else {}
    for subscription in names:
        click.echo(f"Client metrics configs for {subscription} are:")
        for entry in sorted(described[subscription], key=lambda entry: entry.name):
            click.echo(f"  {entry.name}={entry.value}")


async def alter_subscription(admin: ConfigAdmin, name: str, changes: dict[str, str]) -> None:
    """Sets the configurations that have a value, and deletes those with an empty value (which restores the default)."""
    await admin.incremental_alter_configs(
        CLIENT_METRICS,
        name,
        set_configs={key: value for key, value in changes.items() if value},
        delete_configs=[key for key, value in changes.items() if not value],
    )
    click.echo(f"Altered client metrics config for {name}.")


async def delete_subscription(admin: ConfigAdmin, name: str) -> None:
    """Deletes a subscription by removing all its settings. A missing subscription is not an error."""
    entries = (await admin.describe_configs(CLIENT_METRICS, [name]))[name]
    await admin.incremental_alter_configs(CLIENT_METRICS, name, delete_configs=[entry.name for entry in entries])
    click.echo(f"Deleted client metrics config for {name}.")


def client_metrics(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek client-metrics``, returns the exit code."""
    return main(command, "client-metrics", arguments)
