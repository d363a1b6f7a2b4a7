"""``odradek client-metrics``: what ``kafka-client-metrics.sh`` does, with its flags and its output (KIP-714)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .command_config import admin_settings, command_config_option
from .kafka_command import KafkaCommand
from .running import bootstrap_option, exactly_one, main, run, timeout_option

if TYPE_CHECKING:
    from ..admin.configs import ConfigAdmin

CLIENT_METRICS = "client-metrics"
SETTINGS = ("generate-name", "interval", "match", "metrics")
REFUSED = {"delete": SETTINGS, "describe": SETTINGS, "list": ("name", *SETTINGS)}
"""Source: ``ClientMetricsCommandOptions.checkArgs``."""


@click.command(
    cls=KafkaCommand,
    refused=REFUSED,
    help="Show or change the client metrics subscriptions: which metrics clients push, how often, and which clients.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@bootstrap_option
@command_config_option
@click.option("--alter", is_flag=True, help="Make a subscription, or change the given settings of one.")
@click.option("--delete", is_flag=True, help="Remove the subscription of --name.")
@click.option("--describe", is_flag=True, help="Show the settings of --name, or of all subscriptions.")
@click.option("--list", "list_", is_flag=True, help="Show the names of all subscriptions.")
@click.option("--name", help="The name of the subscription.")
@click.option("--generate-name", is_flag=True, help="With --alter: make a subscription whose name is a new random id.")
@click.option("--interval", metavar="MS", help='The interval in which clients push; "" restores the default.')
@click.option(
    "--match",
    multiple=True,
    metavar="K=V,...",
    help="The clients, by regular expressions for client_id, client_instance_id, client_software_name, "
    'client_software_version, client_source_address, client_source_port; "" restores the default, all clients.',
)
@click.option("--metrics", multiple=True, metavar="PREFIX,...", help='Prefixes of metric names; "" restores none.')
@timeout_option
def command(
    bootstrap_server: str,
    command_config: str | None,
    alter: bool,
    delete: bool,
    describe: bool,
    list_: bool,
    name: str | None,
    generate_name: bool,
    interval: str | None,
    match: tuple[str, ...],
    metrics: tuple[str, ...],
    timeout_ms: int,
) -> int:
    """Checks the arguments and runs the action."""
    action = exactly_one({"alter": alter, "delete": delete, "describe": describe, "list": list_})
    check_name(action, name, generate_name)
    changes = changed_configs(interval, match, metrics)

    async def work() -> None:
        from ..admin.configs import ConfigAdmin

        async with ConfigAdmin(bootstrap_server, **admin_settings(command_config, timeout_ms)._asdict()) as admin:
            if action == "list":
                for listed in await admin.list_config_resources(CLIENT_METRICS):
                    click.echo(listed)
            elif action == "describe":
                await describe_subscriptions(admin, name)
            elif action == "delete":
                await delete_subscription(admin, str(name))
            else:
                await alter_subscription(admin, name or random_name(), changes)

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
    import secrets

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
    for one in names:
        click.echo(f"Client metrics configs for {one} are:")
        for entry in sorted(described[one], key=lambda entry: entry.name):
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
