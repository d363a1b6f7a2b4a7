"""The actions of ``odradek reassign-partitions``: ``--list``, ``--verify``, ``--execute``, ``--cancel``.

Source: ``ReassignPartitionsCommand``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

import click

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode

from ...types import TopicPartition
from ..java_errors import java_message
from ..running import CommandError
from .moves import known_log_dirs, move_text, places, start_moves
from .plan import ReassignmentPlan, Replica, check_plan, listed, plan_text
from .throttles import clear_throttles, proposed_moves, throttle_log_dir_moves, throttle_moves

with lazy_imports:
    from ... import errors

if TYPE_CHECKING:
    from ...admin.reassignments import ReassignmentResult
    from .admin import ReassignAdmin

EXISTING = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a "
    "new partition assignment in addition to the existing one. The --additional flag can also be used to change the "
    "throttle by resubmitting the current reassignment."
)
VERIFY = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed."
)


class Execution(NamedTuple):
    """The options of ``--execute``. Rates are in bytes per second; -1 sets no throttle."""

    additional: bool
    rate: int
    log_dir_rate: int
    timeout_ms: int
    allow_replication_factor_change: bool


async def print_list(admin: ReassignAdmin) -> None:
    """``--list``: prints the reassignments in progress."""
    under_way = await admin.list_partition_reassignments()
    click.echo("Current partition reassignments:" if under_way else "No partition reassignments found.")
    for partition, reassignment in sorted(under_way.items()):
        adding = f" adding: {listed(reassignment.adding_replicas)}." if reassignment.adding_replicas else ""
        removing = f" removing: {listed(reassignment.removing_replicas)}." if reassignment.removing_replicas else ""
        click.echo(f"{partition}: replicas: {listed(reassignment.replicas)}.{adding}{removing}")


async def current_replicas(admin: ReassignAdmin, topics: Collection[str]) -> dict[str, dict[int, tuple[int, ...]]]:
    """Topic -> partition -> replicas. Topics that do not exist are left out. Raises AdminError for other errors."""
    try:
        described = await admin.describe_topics(sorted(topics)) if topics else {}
    except errors.AdminError as error:
        others = [
            failure for failure in error.errors.values() if failure.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ]
        if others:
            raise
        described = error.results
    return {
        name: {number: partition.replicas for number, partition in topic.partitions.items()}
        for name, topic in described.items()
    }


async def verify(admin: ReassignAdmin, plan: ReassignmentPlan, *, preserve_throttles: bool) -> None:
    """``--verify``: prints the state of each partition and move. If none is in progress, removes the throttles."""
    under_way = await admin.list_partition_reassignments()
    current = await current_replicas(admin, {part.topic for part, _ in plan.entries if part not in under_way})
    click.echo("Status of partition reassignment:")
    for partition, planned in sorted(plan.partitions.items()):
        if partition in under_way:
            click.echo(f"Reassignment of partition {partition} is still in progress.")
            continue
        replicas = list(current.get(partition.topic, {}).get(partition.partition, ()))
        if replicas == planned:
            click.echo(f"Reassignment of partition {partition} is completed.")
        else:
            click.echo(
                f"There is no active reassignment of partition {partition}, "
                f"but replica set is {listed(replicas)} rather than {listed(planned)}."
            )
    found = await places(admin, plan.log_dirs)
    # Kafka's tool prints an empty line if the plan names no log directory.
    click.echo("\n".join(move_text(replica, found[replica], plan.log_dirs[replica]) for replica in sorted(found)))
    moving = any(place.future is not None for place in found.values())
    if not under_way and not moving and not preserve_throttles:
        await clear_throttles(admin, plan)


async def execute(admin: ReassignAdmin, plan: ReassignmentPlan, options: Execution) -> None:
    """``--execute``: starts the reassignments and the moves between log directories. Raises CommandError."""
    check_plan(plan)
    under_way = await admin.list_partition_reassignments()
    if under_way and not options.additional:
        raise CommandError(EXISTING)
    known = {broker.node_id for broker in (await admin.describe_cluster()).brokers}
    unknown = [broker for _, replicas in plan.entries for broker in replicas if broker not in known]
    if unknown:
        raise CommandError(f"Unknown broker id {unknown[0]}")
    current = await _replicas_of(admin, plan)
    replicas = [Replica(broker, part) for part, brokers in current.items() for broker in brokers if broker in known]
    log_dirs = await known_log_dirs(admin, replicas)
    click.echo(
        f"Current partition replica assignment\n\n{plan_text(current, log_dirs)}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback"
    )
    if options.rate >= 0 or options.log_dir_rate >= 0:
        click.echo(VERIFY)
    if options.rate >= 0:
        await throttle_moves(admin, proposed_moves(under_way, plan.partitions, current), options.rate)
    if options.log_dir_rate >= 0:
        await throttle_log_dir_moves(admin, {replica.broker for replica in plan.log_dirs}, options.log_dir_rate)
    results = await admin.alter_partition_reassignments(
        plan.partitions, allow_replication_factor_change=options.allow_replication_factor_change
    )
    refuse_failed("Error reassigning partition(s):", results)
    started = sorted(plan.partitions)
    click.echo(f"Successfully started partition reassignment{'s' if len(started) != 1 else ''} for {listed(started)}")
    if plan.log_dirs:
        await start_moves(admin, plan.log_dirs, options.timeout_ms)


async def _replicas_of(admin: ReassignAdmin, plan: ReassignmentPlan) -> dict[TopicPartition, tuple[int, ...]]:
    current = await current_replicas(admin, {partition.topic for partition, _ in plan.entries})
    for partition, _ in plan.entries:
        if partition.topic not in current:
            raise CommandError(f"Topic {partition.topic} not found.")
    missing = [part for part, _ in plan.entries if part.partition not in current[part.topic]]
    if missing:
        raise CommandError(f"Unable to find partition: {', '.join(map(str, missing))}")
    return {part: current[part.topic][part.partition] for part, _ in plan.entries}


def refuse_failed(what: str, results: Mapping[TopicPartition, ReassignmentResult]) -> None:
    """Raises CommandError with a line for each partition that was refused."""
    failed = [f"{part}: {java_message(*result)}" for part, result in sorted(results.items()) if result.error_code]
    if failed:
        raise CommandError("\n".join([what, *failed]))


async def cancel(admin: ReassignAdmin, plan: ReassignmentPlan, *, preserve_throttles: bool, timeout_ms: int) -> None:
    """``--cancel``: cancels the plan's reassignments and moves that are in progress. Raises CommandError."""
    ongoing = await admin.list_partition_reassignments(list(plan.partitions))
    active = sorted(
        part for part, reassignment in ongoing.items() if reassignment.adding_replicas or reassignment.removing_replicas
    )
    if active:
        results = await admin.alter_partition_reassignments(dict.fromkeys(active))
        failed = sum(result.error_code != 0 for result in results.values())
        refuse_failed(f"Error cancelling partition reassignment{'s' if failed != 1 else ''} for:", results)
        click.echo(
            f"Successfully cancelled partition reassignment{'s' if len(active) != 1 else ''} for: {listed(active)}"
        )
    else:
        click.echo("None of the specified partition reassignments are active.")
    found = await places(admin, plan.log_dirs)
    back = {replica: place.current for replica, place in found.items() if place.current and place.future}
    if back:
        await start_moves(admin, back, timeout_ms)
    else:
        # Kafka's tool prints no line break here.
        click.echo("None of the specified partition moves are active.", nl=False)
    if not preserve_throttles:
        await clear_throttles(admin, plan)
