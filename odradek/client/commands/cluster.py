"""``odradek cluster``: what ``kafka-cluster.sh`` does, with its commands, flags and output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .abbreviations import AbbreviatedGroup
from .node_options import Command, action_options, ask, given_options, keep_options, node_options
from .running import main

if TYPE_CHECKING:
    from ..admin.nodes import NodeAdmin


@click.group(
    cls=AbbreviatedGroup,
    help="Show the id and the nodes of a cluster; unregister a broker.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@node_options
@click.pass_context
def command(context: click.Context, /, **given: str | None) -> None:
    """Keeps the options that were given before the action's name. The action reads them."""
    keep_options(context, **given)


def _old_config(context: click.Context, parameter: click.Parameter, path: str | None) -> None:
    """Warns of ``--config``, and keeps its value as that of ``--command-config``."""
    if path is not None:
        click.echo("Option --config has been deprecated: use --command-config instead.", err=True)
        context.ensure_object(dict)["command_config"] = path


def cluster_options(function: Command) -> Command:
    """Adds the options of an action, with the names that only kafka-cluster has: ``-c`` and ``--config``."""
    old = click.option(
        "--config",
        "old_config",
        type=click.Path(exists=True, dir_okay=False),
        expose_value=False,
        callback=_old_config,
        hidden=True,
    )
    return action_options(old(function), ("-c", "--command-config"))


def _node_admin() -> type[NodeAdmin]:
    from ..admin.nodes import NodeAdmin

    return NodeAdmin


@command.command("cluster-id", help="Show the id of the cluster.")
@cluster_options
def cluster_id(**common: Any) -> int:
    """``cluster-id``: prints the id of the cluster. Returns the exit code."""

    async def work(admin: NodeAdmin) -> int:
        found = (await admin.describe_cluster()).cluster_id
        if found is None:
            click.echo("No cluster ID found. The Kafka version is probably too old.")
        else:
            click.echo(f"Cluster ID: {found}")
        return 0

    return ask(common, _node_admin, work)


@command.command(help="Unregister a broker.")
@click.option("-i", "--id", "broker_id", type=int, required=True, metavar="N", help="The broker's id.")
@cluster_options
def unregister(broker_id: int, **common: Any) -> int:
    """``unregister``: unregisters a broker. Returns the exit code."""

    async def work(admin: NodeAdmin) -> int:
        from ..errors import UnsupportedVersionError

        try:
            await admin.unregister_broker(broker_id)
        except UnsupportedVersionError:
            click.echo("The target cluster does not support the broker unregistration API.")
        else:
            click.echo(f"Broker {broker_id} is no longer registered.")
        return 0

    return ask(common, _node_admin, work)


@command.command("list-endpoints", help="List the brokers, or the controllers.")
@click.option("--include-fenced-brokers", is_flag=True, help="Also list fenced brokers.")
@cluster_options
def list_endpoints(include_fenced_brokers: bool, **common: Any) -> int:
    """``list-endpoints``: prints the nodes and their endpoints. Returns the exit code."""
    of_controllers = given_options(common)["bootstrap_controller"] is not None
    if include_fenced_brokers and of_controllers:
        raise click.UsageError("The option --include-fenced-brokers is only supported with --bootstrap-server option")

    async def work(admin: NodeAdmin) -> int:
        return await print_endpoints(admin, of_controllers, include_fenced_brokers)

    return ask(common, _node_admin, work)


async def print_endpoints(admin: NodeAdmin, of_controllers: bool, include_fenced_brokers: bool) -> int:
    """Prints Kafka's table of nodes. The columns of host and rack are as wide as their longest cell."""
    nodes = await admin.describe_nodes(include_fenced_brokers=include_fenced_brokers)
    host_width = max((len(node.address.host) for node in nodes), default=100)
    rack_width = max((len(node.address.rack) for node in nodes if node.address.rack), default=10)
    rows = [("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")]
    for (node_id, host, port, rack), is_fenced in nodes:
        state, kind = ("fenced" if is_fenced else "unfenced"), ("controller" if of_controllers else "broker")
        rows.append((str(node_id), host, str(port), rack or "null", state, kind))
    for node_id_, host, port_, rack_, state, kind in rows:
        state_column = "" if of_controllers else f"{state:<10} "
        click.echo(f"{node_id_:<10} {host:<{host_width}} {port_:<10} {rack_:<{rack_width}} {state_column}{kind:<15}")
    return 0


def cluster(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek cluster``, returns the exit code."""
    return main(command, "cluster", arguments)
