"""``odradek cluster``: what ``kafka-cluster.sh`` does, with its commands, flags and output."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from odradek.protocol.common.command_options import flag, included, option, takes
from odradek.protocol.common.lazy_imports import lazy_imports

from .abbreviations import AbbreviatedGroup
from .command_config import FILE_PATH, command_config_option
from .node_options import NodeOptions, ask, given_options, keep_options
from .running import main, timeout_option

with lazy_imports:
    from odradek.protocol import errors as protocol_errors

    from .. import errors as client_errors
    from ..admin import nodes as admin_nodes
    from . import broker_api_versions

if TYPE_CHECKING:
    from ..admin.nodes import NodeAdmin


@click.group(
    cls=AbbreviatedGroup,
    help="Show the id and the nodes of a cluster; unregister a broker or a controller.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(NodeOptions)
def command(options: NodeOptions) -> None:
    """Keeps the options that were given before the action's name. The action reads them."""
    keep_options(options)


def _old_config(context: click.Context, parameter: click.Parameter, path: str | None) -> None:
    """Warns of ``--config``, and keeps its value as that of ``--command-config``."""
    if path is not None:
        click.echo("Option --config has been deprecated: use --command-config instead.", err=True)
        context.obj = replace(context.obj, command_config=path)


@dataclass(frozen=True, kw_only=True)
class ClusterNodeOptions(NodeOptions):
    """The nodes' options of an action, with the short name that only kafka-cluster has."""

    command_config: str | None = command_config_option("-c", "--command-config")


def old_config_option() -> Any:
    """``--config``, the deprecated name of ``--command-config``. The field has no value: its callback keeps it."""
    return option("--config", type=FILE_PATH, expose_value=False, callback=_old_config, hidden=True)


def _node_admin() -> type[admin_nodes.NodeAdmin]:
    return admin_nodes.NodeAdmin


@dataclass(frozen=True, kw_only=True)
class ActionOptions:
    """The arguments that every action has."""

    nodes: ClusterNodeOptions = included(ClusterNodeOptions)
    timeout_ms: int = timeout_option()
    old_config: None = old_config_option()


@command.command("cluster-id", help="Show the id of the cluster.")
@takes(ActionOptions)
def cluster_id(options: ActionOptions) -> int:
    """``cluster-id``: prints the id of the cluster. Returns the exit code."""

    async def work(admin: NodeAdmin) -> int:
        found = (await admin.describe_cluster()).cluster_id
        if found is None:
            click.echo("No cluster ID found. The Kafka version is probably too old.")
        else:
            click.echo(f"Cluster ID: {found}")
        return 0

    return ask(options.nodes, options.timeout_ms, _node_admin, work)


@dataclass(frozen=True, kw_only=True)
class UnregisterOptions(ActionOptions):
    """The arguments of ``unregister``."""

    broker_id: int = option("-i", "--id", type=int, required=True, metavar="N", help="The broker's id.")


@command.command(help="Unregister a broker.")
@takes(UnregisterOptions)
def unregister(options: UnregisterOptions) -> int:
    """``unregister``: unregisters a broker. Returns the exit code."""

    async def work(admin: NodeAdmin) -> int:
        await _unregistered("broker", options.broker_id, admin.unregister_broker)
        return 0

    return ask(options.nodes, options.timeout_ms, _node_admin, work)


@dataclass(frozen=True, kw_only=True)
class UnregisterControllerOptions(ActionOptions):
    """The arguments of ``unregister-controller``."""

    controller_id: int = option("-i", "--id", type=int, required=True, metavar="N", help="The controller's id.")


@command.command("unregister-controller", help="Unregister a controller.")
@takes(UnregisterControllerOptions)
def unregister_controller(options: UnregisterControllerOptions) -> int:
    """``unregister-controller``: unregisters a controller. Returns the exit code."""

    async def work(admin: NodeAdmin) -> int:
        await _unregistered("controller", options.controller_id, admin.unregister_controller)
        return 0

    return ask(options.nodes, options.timeout_ms, _node_admin, work)


async def _unregistered(kind: str, node_id: int, unregister_node: Callable[[int], Awaitable[None]]) -> None:
    """Unregisters a node, and prints that this is done or that the cluster cannot do it. Raises KafkaError."""
    unsupported = f"The target cluster does not support the {kind} unregistration API."
    try:
        await unregister_node(node_id)
    except client_errors.UnsupportedVersionError:
        click.echo(unsupported)
    except protocol_errors.KafkaError as error:
        if error.error_code != protocol_errors.ErrorCode.UNSUPPORTED_VERSION:
            raise
        click.echo(unsupported)
    else:
        click.echo(f"{kind.capitalize()} {node_id} is no longer registered.")


@dataclass(frozen=True, kw_only=True)
class ListEndpointsOptions(ActionOptions):
    """The arguments of ``list-endpoints``."""

    include_fenced_brokers: bool = flag("--include-fenced-brokers", help="Also list fenced brokers.")


@command.command("list-endpoints", help="List the brokers, or the controllers.")
@takes(ListEndpointsOptions)
def list_endpoints(options: ListEndpointsOptions) -> int:
    """``list-endpoints``: prints the nodes and their endpoints. Returns the exit code."""
    of_controllers = given_options(options.nodes).bootstrap_controller is not None
    if options.include_fenced_brokers and of_controllers:
        raise click.UsageError("The option --include-fenced-brokers is only supported with --bootstrap-server option")

    async def work(admin: NodeAdmin) -> int:
        return await print_endpoints(admin, of_controllers, options.include_fenced_brokers)

    return ask(options.nodes, options.timeout_ms, _node_admin, work)


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


@command.command("api-versions", help="Show which versions of each API the brokers, or the controllers, support.")
@takes(ActionOptions)
def api_versions(options: ActionOptions) -> int:
    """``api-versions``: prints what ``broker-api-versions`` does, also of controllers. Returns the exit code."""
    return ask(options.nodes, options.timeout_ms, _node_admin, broker_api_versions.print_versions)


def cluster(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek cluster``, returns the exit code."""
    return main(command, "cluster", arguments)
