"""``odradek metadata-quorum``: what ``kafka-metadata-quorum.sh`` does, with its flags and output.

Source: ``MetadataQuorumCommand``; KIP-595, KIP-853.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odradek.protocol.common.wall_clock import clock_ms

from .abbreviations import AbbreviatedGroup
from .node_options import action_options, ask, given_options, keep_options, node_options
from .output import print_tabbed, topic_id_text
from .quorum_members import controller_to_add, directory_id_of
from .running import CommandError, main

if TYPE_CHECKING:
    from ..admin.quorum import QuorumAdmin, QuorumDescription, QuorumReplica

HEADER = ("NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status")
NO_DIRECTORY = bytes(16)


@click.group(
    cls=AbbreviatedGroup,
    help="Show the state of the metadata quorum.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@node_options
@click.pass_context
def command(context: click.Context, /, **given: str | None) -> None:
    """Keeps the options that were given before the action's name. The action reads them."""
    keep_options(context, **given)


@command.command(help="Describe the quorum: its status, or the replication of its log.")
@click.option("--status", is_flag=True, help="Show the leader, the voters and the observers.")
@click.option("--replication", is_flag=True, help="Show the end offset and the lag of each node.")
@click.option("--human-readable", is_flag=True, help="With --replication: show times as ages.")
@action_options
def describe(status: bool, replication: bool, human_readable: bool, **common: Any) -> int:
    """``describe``: prints the state of the quorum, or of its replicas. Returns the exit code."""
    if status and replication:
        raise click.UsageError("Only one of --status or --replication should be specified with describe sub-command")
    if not status and not replication:
        raise click.UsageError("One of --status or --replication must be specified with describe sub-command")
    if human_readable and status:
        raise click.UsageError("The option --human-readable is only supported along with --replication")

    async def work(admin: QuorumAdmin) -> int:
        if status:
            cluster_id = (await admin.describe_cluster()).cluster_id
            print_status(str(cluster_id), await admin.describe_metadata_quorum())
        else:
            print_replication(await admin.describe_metadata_quorum(), human_readable=human_readable)
        return 0

    return ask(common, _quorum_admin, work)


def _quorum_admin() -> type[QuorumAdmin]:
    from ..admin.quorum import QuorumAdmin

    return QuorumAdmin


dry_run_option = click.option("--dry-run", is_flag=True, help="Only print what would be done.")


@command.command(
    "add-controller", help="Make a controller a voter; --command-config names the controller's configuration file."
)
@dry_run_option
@action_options
def add_controller(dry_run: bool, **common: Any) -> int:
    """``add-controller``: adds the controller of ``--command-config`` to the voters. Returns the exit code."""
    file = given_options(common)["command_config"]
    if file is None:
        raise CommandError(
            "You must supply the configuration file of the controller you are adding when using add-controller."
        )
    added = controller_to_add(Path(file))

    async def work(admin: QuorumAdmin) -> int:
        if not dry_run:
            await admin.add_raft_voter(added.node_id, added.directory_id, added.endpoints)
        click.echo(f"{'DRY RUN of adding' if dry_run else 'Added'} {added}")
        return 0

    return ask(common, _quorum_admin, work)


@command.command("remove-controller", help="Remove a controller from the voters.")
@click.option("-i", "--controller-id", type=int, required=True, metavar="N", help="The controller's node id.")
@click.option("-d", "--controller-directory-id", required=True, metavar="ID", help="The controller's directory id.")
@dry_run_option
@action_options
def remove_controller(controller_id: int, controller_directory_id: str, dry_run: bool, **common: Any) -> int:
    """``remove-controller``: removes a voter. Returns the exit code."""
    if controller_id < 0:
        raise CommandError(f"Invalid negative --controller-id: {controller_id}")
    try:
        directory_id = directory_id_of(controller_directory_id)
    except ValueError as error:
        raise CommandError(f"Failed to parse --controller-directory-id: {error}") from None

    async def work(admin: QuorumAdmin) -> int:
        if not dry_run:
            await admin.remove_raft_voter(controller_id, directory_id)
        # Kafka's tool prints two spaces here.
        done = "DRY RUN of removing " if dry_run else "Removed "
        click.echo(f"{done} KRaft controller {controller_id} with directory id {topic_id_text(directory_id)}")
        return 0

    return ask(common, _quorum_admin, work)


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
