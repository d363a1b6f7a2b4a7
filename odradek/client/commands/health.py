"""``odradek health``: checks that a broker answers requests, for Docker's HEALTHCHECK and for scripts.

The exit code is 0 if the broker answers ApiVersions and Metadata, its cluster has a live broker, and one of its log
directories takes records of clients; otherwise it is 1. That is what ``/ready`` of the metrics listener says, too.
Advertised addresses that can't be reached are named on standard error, but do not make a broker unhealthy: inside a
container they often cannot be reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from odradek.protocol.common.command_options import flag, included, option, takes
from odradek.protocol.common.lazy_imports import lazy_imports

from ..errors import ClientError, UnsupportedVersionError
from .command_config import CONNECTION, AdminSettings, ConnectionOptions, client_settings
from .output import print_json
from .running import CommandError, json_option, main, run

with lazy_imports:
    import asyncio

    from odradek.protocol import errors
    from odradek.protocol.messages import log_dirs

    from ..cluster import cluster as cluster_module

if TYPE_CHECKING:
    from ..cluster.connection import BrokerConnection


@dataclass(frozen=True, kw_only=True)
class HealthOptions:
    """The arguments of the command."""

    connection: ConnectionOptions = included(ConnectionOptions)
    timeout_ms: int = option("--timeout", type=click.IntRange(min=1), default=5_000, show_default=True, metavar="MS")
    wait_ms: int = option("--wait", type=click.IntRange(min=0), default=0, metavar="MS", help="Retry for this long.")
    bootstrap_only: bool = flag(
        "--bootstrap-only", help="Do not try whether the addresses that the brokers advertise can be reached."
    )
    as_json: bool = json_option()


@click.command(
    help="Check that a broker answers and that clients can write; the exit code is 0 if they can.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(HealthOptions)
def command(options: HealthOptions) -> int:
    """Retries until the broker answers or the time has passed."""
    timeouts = {"request_timeout_ms": options.timeout_ms, "connection_timeout_ms": options.timeout_ms}
    given = {**client_settings(CONNECTION, options.connection.command_config), **timeouts}
    settings = AdminSettings(client_id="odradek-health")._replace(**given)

    async def work() -> int | None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + options.wait_ms / 1000
        while True:
            try:
                cluster_id, brokers = await check(
                    options.connection.bootstrap_server, settings, bootstrap_only=options.bootstrap_only
                )
            except (ClientError, CommandError):
                if loop.time() >= deadline:
                    raise
                await asyncio.sleep(0.1)
                continue
            if options.as_json:
                print_json({"healthy": True, "clusterId": cluster_id, "brokers": brokers})
            else:
                click.echo(f"healthy: cluster {cluster_id}, brokers {', '.join(map(str, brokers))}")
            return 0

    return run(work)


async def check(
    bootstrap_server: str, settings: AdminSettings, *, bootstrap_only: bool
) -> tuple[str | None, list[int]]:
    """Returns the cluster's id and the ids of its live brokers. Raises ClientError, CommandError if none is alive or if
    the broker that answers takes no records."""
    times = cluster_module.ClusterTimes(
        settings.request_timeout_ms,
        settings.connection_timeout_ms,
        settings.retry_backoff_ms,
        settings.retry_backoff_max_ms,
    )
    cluster = cluster_module.Cluster(
        bootstrap_server, client_id=settings.client_id, times=times, security=settings.security
    )
    try:
        await cluster.start()
        if not cluster.metadata.brokers:
            raise CommandError(f"{bootstrap_server} answers, but no broker of its cluster is alive yet")
        await check_log_dirs(await cluster.any_connection())
        brokers = sorted(cluster.metadata.brokers)
        if not bootstrap_only:
            connecting = (cluster.connection(broker) for broker in brokers)
            await asyncio.gather(*connecting, return_exceptions=True)  # the cluster logs each failure
        return cluster.metadata.cluster_id, brokers
    finally:
        await cluster.close()


async def check_log_dirs(connection: BrokerConnection) -> None:
    """Raises CommandError if no log directory of a broker takes records.

    A client that may not ask learns nothing, as from a broker before Kafka 1.0.
    """
    try:
        answer = await connection.call(log_dirs.DescribeLogDirsRequest(topics=[]), log_dirs.DescribeLogDirsResponse)
    except UnsupportedVersionError:
        return
    reasons = []
    for directory in answer.results:
        if directory.error_code:
            reasons.append(f"{directory.log_dir}: {errors.error_name(directory.error_code)}")
        elif directory.usable_bytes == 0:
            reasons.append(f"{directory.log_dir}: the disk is full")
        else:
            return
    if reasons:
        raise CommandError(f"the broker answers, but takes no records: {'; '.join(reasons)}")


def health(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek health``, returns the exit code."""
    return main(command, "health", arguments)
