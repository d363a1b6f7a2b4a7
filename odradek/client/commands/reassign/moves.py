"""Finds the log directories of replicas, and starts moves between log directories.

Source: ``ReassignPartitionsCommand.findLogDirMoveStates``, ``executeMoves``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

import click

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode

from ...errors import AdminError, BrokerConnectionError
from ..running import CommandError
from .plan import Replica, listed

with lazy_imports:
    import asyncio

if TYPE_CHECKING:
    from .admin import ReassignAdmin

RETRY_S = 0.1


class LogDirPlacement(NamedTuple):
    """The log directory of a replica, and the one that it is being moved to (None: no move)."""

    current: str | None = None
    future: str | None = None


async def places(admin: ReassignAdmin, replicas: Collection[Replica]) -> dict[Replica, LogDirPlacement]:
    """The log directories of each replica. Raises KafkaError if a broker is not in the cluster."""
    found = dict.fromkeys(replicas, LogDirPlacement())
    brokers = sorted({replica.broker for replica in replicas})
    for broker, log_dirs in (await admin.describe_log_dirs(brokers)).items():
        for log_dir in log_dirs:
            for partition, info in log_dir.replicas.items():
                replica = Replica(broker, partition)
                if replica not in found:
                    continue
                which = "future" if info.is_future else "current"
                found[replica] = found[replica]._replace(**{which: log_dir.path})
    return found


async def known_log_dirs(admin: ReassignAdmin, replicas: Collection[Replica]) -> dict[Replica, str]:
    """The log directory of each replica whose broker answers. A broker that can't be reached may be dead, and not be
    fenced yet: its replicas are left out, and the others are asked.
    """
    found: dict[Replica, str] = {}
    for broker in sorted({replica.broker for replica in replicas}):
        with contextlib.suppress(BrokerConnectionError):
            some = [replica for replica in replicas if replica.broker == broker]
            found |= {replica: place.current for replica, place in (await places(admin, some)).items() if place.current}
    return found


def move_text(replica: Replica, place: LogDirPlacement, target: str) -> str:
    """The line that ``--verify`` prints for a replica whose log directory is in the plan."""
    partition, broker = replica.partition, replica.broker
    if place.current is None:
        return (
            f"Partition {partition} is not found in any live log dir on broker {broker}. "
            "There is likely an offline log directory on the broker."
        )
    if place.future == target:
        return f"Reassignment of replica {replica} is still in progress."
    if place.future is not None:
        return f"Partition {partition} on broker {broker} is being moved to log dir {place.future} instead of {target}."
    if place.current == target:
        return f"Reassignment of replica {replica} completed successfully."
    return f"Partition {partition} on broker {broker} is not being moved from log dir {place.current} to {target}."


async def start_moves(admin: ReassignAdmin, log_dirs: Mapping[Replica, str], timeout_ms: int) -> None:
    """Starts moves to log directories. Retries for up to ``timeout_ms`` if a broker does not have the replica yet.

    Raises CommandError.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_ms / 1000
    waiting = dict(log_dirs)
    while True:
        for replica in sorted(waiting):
            if await _started(admin, replica, waiting[replica]):
                target, broker = waiting.pop(replica), replica.broker
                click.echo(
                    f"Successfully started moving log directory to {target} for replica "
                    f"{replica.partition} with broker {broker} "
                )
        if not waiting:
            return
        if loop.time() >= deadline:
            raise CommandError(
                f"Timed out before log directory move{'s' if len(waiting) != 1 else ''} could be started for: "
                f"{listed(sorted(waiting))}"
            )
        await asyncio.sleep(RETRY_S)


async def _started(admin: ReassignAdmin, replica: Replica, target: str) -> bool:
    try:
        await admin.alter_replica_log_dirs(replica.broker, {replica.partition: target})
    except AdminError as error:
        if error.error_code == ErrorCode.REPLICA_NOT_AVAILABLE:
            return False
        raise CommandError(f"Failed to alter dir for {replica}: {error.error_code.message}") from error
    return True
