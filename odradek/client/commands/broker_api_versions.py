"""``odradek broker-api-versions``: what ``kafka-broker-api-versions.sh`` does, with its flags and its output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from odradek.protocol.common.command_options import included, takes
from odradek.protocol.common.lazy_imports import lazy_imports

from .command_config import ConnectionOptions
from .kafka_command import KafkaCommand
from .running import main, run, timeout_option

with lazy_imports:
    from odradek.protocol.messages import apis

    from .. import errors
    from ..admin import nodes

if TYPE_CHECKING:
    from ..admin.nodes import NodeAdmin


@dataclass(frozen=True, kw_only=True)
class BrokerApiVersionsOptions:
    """The arguments of the command."""

    connection: ConnectionOptions = included(ConnectionOptions)
    timeout_ms: int = timeout_option()


@click.command(
    cls=KafkaCommand,
    help="Show which versions of each API the brokers support.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(BrokerApiVersionsOptions)
def command(options: BrokerApiVersionsOptions) -> int:
    """Prints the versions of each broker."""

    async def work() -> int | None:
        async with options.connection.admin(nodes.NodeAdmin, options.timeout_ms) as admin:
            return await print_versions(admin)

    return run(work)


async def print_versions(admin: NodeAdmin) -> int:
    """Prints one block for each broker, or controller, by id; its error if it does not answer."""
    for broker in sorted((await admin.describe_cluster()).brokers):
        name = f"{broker.host}:{broker.port} (id: {broker.node_id} rack: {broker.rack or 'null'} isFenced: false)"
        try:
            versions = await admin.api_versions(broker.node_id)
        except errors.ClientError as error:
            click.echo(f"{name} -> ERROR: {error}")
            continue
        click.echo(f"{name} -> {versions_text(versions)}")
    return 0


def versions_text(versions: dict[int, tuple[int, int]]) -> str:
    """The APIs by key: the versions that the broker serves, and the highest one that this client can use."""
    lines = {key: _announced(key, low, high) for key, (low, high) in versions.items()}
    for key, (name, _, _, listeners, _) in apis.APIS.items():
        if "broker" in listeners:
            lines.setdefault(key, f"{name}({key}): UNSUPPORTED")
    return "(\n\t" + ",\n\t".join(lines[key] for key in sorted(lines)) + "\n)"


def _announced(key: int, low: int, high: int) -> str:
    served = str(low) if low == high else f"{low} to {high}"
    if key not in apis.APIS:
        return f"UNKNOWN({key}): {served}"
    name, (our_low, our_high), *_ = apis.APIS[key]
    usable = f"usable: {min(our_high, high)}"
    if our_high < low:
        usable = "unusable: node too new"
    elif high < our_low:
        usable = "unusable: node too old"
    return f"{name}({key}): {served} [{usable}]"


def broker_api_versions(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek broker-api-versions``, returns the exit code."""
    return main(command, "broker-api-versions", arguments)
