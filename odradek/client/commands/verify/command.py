"""``odradek verify``: tests that a cluster loses, duplicates and reorders no records, also while brokers fail.

Owns: flags, settings of the clients, exit code: 0 no findings, 1 findings, 2 wrong usage.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from odradek.protocol.common.command_options import flag, included, option, takes
from odradek.protocol.common.lazy_imports import lazy_imports

from ..command_config import CONNECTION, CONSUMER, PRODUCER, ConnectionOptions, Settings, client_settings
from ..running import main, run
from .plan import VerifyPlan

with lazy_imports:
    import secrets

    from . import report, report_page
    from . import run as verify_run

if TYPE_CHECKING:
    from .report import Report

DURATION_S = 10.0
OF_THE_RUN = frozenset(
    {
        *("acks", "allow.auto.create.topics", "auto.commit.interval.ms", "auto.offset.reset", "enable.auto.commit"),
        *("group.id", "group.instance.id", "group.protocol", "group.remote.assignor", "isolation.level"),
        *("partitioner.ignore.keys", "partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms"),
    }
)
"""Keys of Kafka's clients that have no effect, because the run sets them itself or uses no group."""
KNOWN: Settings = {key: setting for key, setting in {**PRODUCER, **CONSUMER}.items() if key not in OF_THE_RUN}


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """The arguments of the command."""

    connection: ConnectionOptions = included(ConnectionOptions)
    topic: str = option(
        "--topic", default="odradek-verify", show_default=True, help="The topic; created if it does not exist."
    )
    partitions: int | None = option(
        "--partitions",
        type=click.IntRange(min=1),
        metavar="N",
        help="The number of partitions of a new topic; default 3.",
    )
    replication_factor: int | None = option(
        "--replication-factor",
        type=click.IntRange(min=1),
        metavar="N",
        help="The number of replicas of a new topic; default: the brokers' default.",
    )
    duration: float | None = option(
        "--duration", type=click.FloatRange(min=0, min_open=True), metavar="S", help="How long to write; default 10."
    )
    records: int | None = option(
        "--records", type=click.IntRange(min=1), metavar="N", help="How many records to write, instead of --duration."
    )
    rate: float = option(
        "--rate",
        type=click.FloatRange(min=0, min_open=True),
        default=1_000,
        show_default=True,
        metavar="N",
        help="How many records to write a second.",
    )
    transactional: bool = flag("--transactional", help="Write in transactions, and abort every fifth.")
    timeout: float = option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=60,
        show_default=True,
        metavar="S",
        help="Stop reading after this time without progress.",
    )
    report: Any = option(
        "--report",
        type=click.File("w", encoding="utf-8", lazy=False),
        metavar="FILE",
        help="Write an HTML page with the result.",
    )
    as_json: bool = flag("--json", help="Print the result as one JSON object.")


@click.command(
    help="Write numbered records, read them back, and report loss, duplicates, reordering, records of aborted "
    "transactions and latency. It continues while brokers fail and restart.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(VerifyOptions)
def command(options: VerifyOptions) -> int:
    """Checks the arguments, runs, prints."""
    if options.duration is not None and options.records is not None:
        raise click.UsageError("--duration and --records cannot be specified together.")
    if options.duration is None and options.records is None:
        options = replace(options, duration=DURATION_S)
    name = run_name()
    plan = VerifyPlan(
        name,
        options.topic,
        options.partitions,
        options.replication_factor or -1,
        options.rate,
        options.duration,
        options.records,
        options.transactional,
        timeout_s=options.timeout,
    )
    clients = settings_of(plan, options.connection.bootstrap_server, options.connection.command_config)

    async def work() -> int:
        result = await verify_run.verify_cluster(plan, *clients)
        click.echo(_printed(result, options.as_json))
        if options.report is not None:
            options.report.write(report_page.page(result))
        return 1 if result.findings else 0

    return run(work, is_measuring=True)


def _printed(result: Report, as_json: bool) -> str:
    if as_json:
        return report.report_json(result)
    return "\n".join(report.report_lines(result))


def run_name() -> str:
    """A unique name for the run."""
    return f"verify-{secrets.token_hex(4)}"


def settings_of(
    plan: VerifyPlan, bootstrap_server: str, config: str | None
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The arguments of the admin client, the producer and the consumer, in this order. Raises CommandError."""
    given = client_settings(KNOWN, config)

    def of_client(keys: Settings, **own: object) -> dict[str, Any]:
        arguments = {"security", *(argument for argument, _ in keys.values())}
        taken = {argument: value for argument, value in given.items() if argument in arguments}
        return {"bootstrap_servers": bootstrap_server, **taken, **own}

    producer = of_client(PRODUCER, acks="all")
    consumer = of_client(CONSUMER, auto_offset_reset="earliest", allow_auto_create_topics=False)
    if plan.transactional:
        producer["transactional_id"] = plan.run
        consumer["isolation_level"] = "read_committed"
    return of_client(CONNECTION), producer, consumer


def verify(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek verify``, returns the exit code."""
    return main(command, "verify", arguments)
