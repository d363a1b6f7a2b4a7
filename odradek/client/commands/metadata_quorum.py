"""``odradek metadata-quorum``: what ``kafka-metadata-quorum.sh`` does, with its flags and output.

Source: ``MetadataQuorumCommand``; KIP-595, KIP-853.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from odradek.protocol.common.command_options import flag, included, option, takes
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.wall_clock import clock_ms

from .abbreviations import AbbreviatedGroup
from .node_options import NodeOptions, ask, given_options, keep_options
from .output import print_tabbed, topic_id_text
from .quorum_members import controller_to_add, directory_id_of
from .running import CommandError, main, timeout_option

with lazy_imports:
    from odradek.protocol import errors as protocol_errors

    from .. import errors as client_errors
    from ..admin import nodes as admin_nodes
    from ..admin import quorum as admin_quorum

if TYPE_CHECKING:
    from ..admin.quorum import QuorumAdmin, QuorumDescription, QuorumReplica

HEADER = ("NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status")
NO_DIRECTORY = bytes(16)


@click.group(
    cls=AbbreviatedGroup,
    help="Show the state of the metadata quorum.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(NodeOptions)
def command(options: NodeOptions) -> None:
    """Keeps the options that were given before the action's name. The action reads them."""
    keep_options(options)


@dataclass(frozen=True, kw_only=True)
class DescribeQuorumOptions:
    """The arguments of ``describe``."""

    status: bool = flag("--status", help="Show the leader, the voters and the observers.")
    replication: bool = flag("--replication", help="Show the end offset and the lag of each node.")
    human_readable: bool = flag("--human-readable", help="With --replication: show times as ages.")
    nodes: NodeOptions = included(NodeOptions)
    timeout_ms: int = timeout_option()


@command.command(help="Describe the quorum: its status, or the replication of its log.")
@takes(DescribeQuorumOptions)
def describe(options: DescribeQuorumOptions) -> int:
    """``describe``: prints the state of the quorum, or of its replicas. Returns the exit code."""
    if options.status and options.replication:
        raise click.UsageError("Only one of --status or --replication should be specified with describe sub-command")
    if not options.status and not options.replication:
        raise click.UsageError("One of --status or --replication must be specified with describe sub-command")
    if options.human_readable and options.status:
        raise click.UsageError("The option --human-readable is only supported along with --replication")

    async def work(admin: QuorumAdmin) -> int:
        if options.status:
            cluster_id = (await admin.describe_cluster()).cluster_id
            print_status(str(cluster_id), await admin.describe_metadata_quorum())
        else:
            print_replication(await admin.describe_metadata_quorum(), human_readable=options.human_readable)
        return 0

    return ask(options.nodes, options.timeout_ms, _quorum_admin, work)


def _quorum_admin() -> type[admin_quorum.QuorumAdmin]:
    return admin_quorum.QuorumAdmin


DRY_RUN_HELP = "Only print what would be done."


@dataclass(frozen=True, kw_only=True)
class AddControllerOptions:
    """The arguments of ``add-controller``."""

    dry_run: bool = flag("--dry-run", help=DRY_RUN_HELP)
    nodes: NodeOptions = included(NodeOptions)
    timeout_ms: int = timeout_option()


@command.command(
    "add-controller", help="Make a controller a voter; --command-config names the controller's configuration file."
)
@takes(AddControllerOptions)
def add_controller(options: AddControllerOptions) -> int:
    """``add-controller``: adds the controller of ``--command-config`` to the voters. Returns the exit code."""
    file = given_options(options.nodes).command_config
    if file is None:
        raise CommandError(
            "You must supply the configuration file of the controller you are adding when using add-controller."
        )
    added = controller_to_add(Path(file))

    async def work(admin: QuorumAdmin) -> int:
        if not options.dry_run:
            await admin.add_raft_voter(added.node_id, added.directory_id, added.endpoints)
        click.echo(f"{'DRY RUN of adding' if options.dry_run else 'Added'} {added}")
        return 0

    return ask(options.nodes, options.timeout_ms, _quorum_admin, work)


@dataclass(frozen=True, kw_only=True)
class RemoveControllerOptions:
    """The arguments of ``remove-controller``."""

    controller_id: int = option(
        "-i", "--controller-id", type=int, required=True, metavar="N", help="The controller's node id."
    )
    controller_directory_id: str = option(
        "-d", "--controller-directory-id", required=True, metavar="ID", help="The controller's directory id."
    )
    dry_run: bool = flag("--dry-run", help=DRY_RUN_HELP)
    unregister: bool = flag("--unregister", help="Then also remove the controller's registration.")
    nodes: NodeOptions = included(NodeOptions)
    timeout_ms: int = timeout_option()


@command.command("remove-controller", help="Remove a controller from the voters.")
@takes(RemoveControllerOptions)
def remove_controller(options: RemoveControllerOptions) -> int:
    """``remove-controller``: removes a voter. Returns the exit code."""
    if options.controller_id < 0:
        raise CommandError(f"Invalid negative --controller-id: {options.controller_id}")
    try:
        directory_id = directory_id_of(options.controller_directory_id)
    except ValueError as error:
        raise CommandError(f"Failed to parse --controller-directory-id: {error}") from None

    controller_id, dry_run = options.controller_id, options.dry_run

    async def work(admin: QuorumAdmin) -> int:
        if not dry_run:
            await _remove(admin, controller_id, directory_id, advise=options.unregister)
        done = "DRY RUN of removing" if dry_run else "Removed"
        click.echo(f"{done} KRaft controller {controller_id} with directory id {topic_id_text(directory_id)}")
        if options.unregister:
            if not dry_run:
                await _unregister(admin, controller_id)
            click.echo(f"{'DRY RUN of unregistering' if dry_run else 'Unregistered'} KRaft controller {controller_id}")
        return 0

    return ask(options.nodes, options.timeout_ms, _quorum_admin, work)


async def _remove(admin: QuorumAdmin, controller_id: int, directory_id: bytes, *, advise: bool) -> None:
    """Removes a voter. ``advise``: if it is not one, or voters cannot be removed, the error says how to unregister it.

    Raises CommandError, KafkaError, UnsupportedVersionError.
    """
    try:
        await admin.remove_raft_voter(controller_id, directory_id)
    except client_errors.UnsupportedVersionError as error:
        if not advise:
            raise
        raise _left_registered("remove KRaft voter", controller_id, error) from None
    except protocol_errors.KafkaError as error:
        if not advise or error.error_code not in (
            protocol_errors.ErrorCode.UNSUPPORTED_VERSION,
            protocol_errors.ErrorCode.VOTER_NOT_FOUND,
        ):
            raise
        raise _left_registered("remove KRaft voter", controller_id, error) from None


async def _unregister(admin: QuorumAdmin, controller_id: int) -> None:
    """Removes the registration of a former voter. Raises CommandError."""
    try:
        await admin_nodes.NodeAdmin.beside(admin).unregister_controller(controller_id)
    except (client_errors.ClientError, protocol_errors.KafkaError) as error:
        raise _left_registered("unregister controller", controller_id, error) from None


def _left_registered(what: str, controller_id: int, error: Exception) -> CommandError:
    reason = str(error.args[-1]).removeprefix(f"controller {controller_id}: ").removesuffix(".")
    return CommandError(
        f"Failed to {what} {controller_id}: {reason}. To unregister the controller from the cluster, run "
        f"`odradek cluster unregister-controller --id {controller_id}`."
    )


def leader_of(quorum: QuorumDescription) -> QuorumReplica:
    """The leader among the voters. Raises CommandError if there is none."""
    found = next((voter for voter in quorum.voters if voter.node_id == quorum.leader_id), None)
    if found is None:
        raise CommandError("the metadata quorum has no leader now; retry")
    return found


def print_status(cluster_id: str, quorum: QuorumDescription) -> None:
    """``--status``: prints the leader, the largest lag, the voters and the observers."""
    leader = leader_of(quorum)
    slowest = min(quorum.voters, key=lambda voter: voter.log_end_offset)
    lag_ms = -1
    if slowest == leader:
        lag_ms = 0
    elif leader.last_caught_up_timestamp != -1 and slowest.last_caught_up_timestamp != -1:
        lag_ms = leader.last_caught_up_timestamp - slowest.last_caught_up_timestamp
    for name, value in (
        ("ClusterId:", cluster_id),
        ("LeaderId:", quorum.leader_id),
        ("LeaderEpoch:", quorum.leader_epoch),
        ("HighWatermark:", quorum.high_watermark),
        ("MaxFollowerLag:", leader.log_end_offset - slowest.log_end_offset),
        ("MaxFollowerLagTimeMs:", lag_ms),
        ("CurrentVoters:", _nodes_text(quorum, quorum.voters)),
        ("CurrentObservers:", _nodes_text(quorum, quorum.observers)),
    ):
        click.echo(f"{name:<24}{value}")


def _nodes_text(quorum: QuorumDescription, replicas: list[QuorumReplica]) -> str:
    return "[" + ", ".join(_node_text(quorum, replica) for replica in replicas) + "]"


def _node_text(quorum: QuorumDescription, replica: QuorumReplica) -> str:
    fields = [f'"id": {replica.node_id}']
    if replica.directory_id != NO_DIRECTORY:
        fields.append(f'"directoryId": "{topic_id_text(replica.directory_id)}"')
    endpoints = quorum.endpoints.get(replica.node_id)
    if endpoints:
        texts = (f'"{name}://{f"[{host}]" if ":" in host else host}:{port}"' for name, host, port in endpoints)
        fields.append(f'"endpoints": [{", ".join(texts)}]')
    return "{" + ", ".join(fields) + "}"


def print_replication(quorum: QuorumDescription, *, human_readable: bool) -> None:
    """``--replication``: prints a row for the leader, then for the other voters and the observers."""

    leader = leader_of(quorum)
    now_ms = clock_ms()

    def moment(timestamp_ms: int) -> str:
        return f"{now_ms - timestamp_ms} ms ago" if human_readable and timestamp_ms != -1 else str(timestamp_ms)

    def row(replica: QuorumReplica, status: str) -> list[object]:
        return [
            replica.node_id,
            topic_id_text(replica.directory_id),
            replica.log_end_offset,
            leader.log_end_offset - replica.log_end_offset,
            moment(replica.last_fetch_timestamp),
            moment(replica.last_caught_up_timestamp),
            status,
        ]

    followers = [row(voter, "Follower") for voter in quorum.voters if voter.node_id != leader.node_id]
    observers = [row(observer, "Observer") for observer in quorum.observers]
    print_tabbed(HEADER, [row(leader, "Leader"), *followers, *observers])


def metadata_quorum(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek metadata-quorum``, returns the exit code."""
    return main(command, "metadata-quorum", arguments)
