"""``odradek doctor HOST:PORT``: finds out why a client does not work with a Kafka.

It does what a client does, one step after the other, and says of each whether it works and, if not, what to change:
name, port, TLS, login, versions, advertised addresses, controllers, replication, a topic, a group, and a record there
and back. It works with any Kafka. The exit code is 1 if a step found an error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from odradek.protocol.common.command_options import argument, flag, included, option, takes
from odradek.protocol.common.lazy_imports import lazy_imports

from ..command_config import ConnectionOptions, given_settings
from ..output import print_json
from ..running import CommandError, json_option, main, run

with lazy_imports:
    import time

    from ... import errors as client_errors
    from ...cluster import cluster
    from ...security import settings
    from . import cluster_checks, group_checks, record_check, topic_checks
    from . import diagnosis as doctor_diagnosis
    from . import target as doctor_target

if TYPE_CHECKING:
    from ...security.settings import Security
    from .diagnosis import Diagnosis
    from .target import Target


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """The arguments of the command."""

    address: str | None = argument(required=False, metavar="[HOST:PORT]")
    connection: ConnectionOptions = included(ConnectionOptions)
    topic: str | None = option("--topic", metavar="TOPIC", help="Examine this topic, too.")
    group: str | None = option("--group", metavar="GROUP", help="Examine this consumer group, too.")
    record_bytes: int | None = option(
        "--record-bytes",
        type=click.IntRange(min=1),
        metavar="BYTES",
        help="The size of the records that you want to write to --topic.",
    )
    no_record: bool = flag("--no-record", help="Write nothing: make no topic for a record there and back.")
    timeout_ms: int = option(
        "--timeout",
        type=click.IntRange(min=1),
        default=5_000,
        show_default=True,
        metavar="MS",
        help="How long one step may take.",
    )
    as_json: bool = json_option()


@click.command(
    help="Find out why a client does not work: name, port, TLS, login, advertised addresses, topic, group.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(DoctorOptions)
def command(options: DoctorOptions) -> int:
    """Prints each diagnosis when it is known."""
    if options.record_bytes is not None and options.topic is None:
        raise click.UsageError("--record-bytes needs --topic: its max.message.bytes is the limit")

    async def work() -> int:
        found: list[Diagnosis] = []
        async for diagnosis in examine(options):
            found.append(diagnosis)
            if not options.as_json:
                _show(diagnosis)
        verdicts = [diagnosis.verdict for diagnosis in found]
        errors, warnings = (
            verdicts.count(doctor_diagnosis.Verdict.ERROR),
            verdicts.count(doctor_diagnosis.Verdict.WARNING),
        )
        if options.as_json:
            print_json(
                {"errors": errors, "warnings": warnings, "diagnoses": [diagnosis._asdict() for diagnosis in found]}
            )
        else:
            click.echo(f"{_counted(errors, 'error')}, {_counted(warnings, 'warning')}")
        return 1 if errors else 0

    return run(work)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _show(diagnosis: Diagnosis) -> None:
    """Prints a diagnosis, with its step on a line of its own."""
    click.echo(f"{diagnosis.verdict:<8} {diagnosis.check:<12} {diagnosis.text}")
    if diagnosis.step:
        click.echo(f"{'':21} -> {diagnosis.step}")


async def examine(options: DoctorOptions) -> AsyncIterator[Diagnosis]:
    """Tries every given address, then the cluster behind the first one that works. Raises CommandError, ClientError."""
    security = _security(options.connection.command_config)
    works: doctor_target.Target | None = None
    try:
        for host, port in cluster.parse_bootstrap_servers(options.address or options.connection.bootstrap_server):
            target = doctor_target.Target(host, port, security, options.timeout_ms / 1000)
            async for diagnosis in doctor_target.check_target(target):
                yield diagnosis
            if works is None and target.connection is not None:
                works = target
            elif target.connection is not None:
                target.connection.close()
        if works is not None:
            async for diagnosis in _examine_cluster(options, works):
                yield diagnosis
    finally:
        if works is not None and works.connection is not None:
            works.connection.close()


def _security(path: str | None) -> Security | None:
    """The security settings of the file and of ``--command-property``; None for PLAINTEXT. Raises CommandError."""
    try:
        return settings.security_of(
            {key: given.text for key, given in given_settings(path, ()).items() if key in settings.KEYS}
        )
    except client_errors.ConfigurationError as error:
        raise CommandError(str(error)) from None


async def _examine_cluster(options: DoctorOptions, target: Target) -> AsyncIterator[Diagnosis]:
    """The checks behind a listener that works. Without all advertised addresses, the others would only time out."""
    assert target.connection is not None
    assert target.metadata is not None
    yield cluster_checks.judge_versions(target.connection.versions)
    is_reached = True
    async for diagnosis in cluster_checks.check_advertised(target, target.metadata):
        yield diagnosis
        is_reached = is_reached and diagnosis.verdict is not doctor_diagnosis.Verdict.ERROR
    if not is_reached:
        yield doctor_diagnosis.skipped("cluster", "clients do not reach every broker, so nothing behind them was tried")
        return
    timeout_ms = options.timeout_ms
    async with cluster_checks.ClusterAdmin(
        target.address,
        client_id="odradek-doctor",
        request_timeout_ms=timeout_ms,
        default_api_timeout_ms=timeout_ms,
        security=target.secured,
    ) as admin:
        yield await cluster_checks.check_controllers(admin, target.metadata)
        checks = [cluster_checks.check_replication(admin, target.metadata)]
        if options.topic is not None:
            topics, now_ms = topic_checks.TopicChecksAdmin.beside(admin), int(time.time() * 1000)
            checks.append(topic_checks.check_topic(topics, options.topic, options.record_bytes, now_ms))
        if options.group is not None:
            checks.append(
                group_checks.check_group(group_checks.GroupChecksAdmin.beside(admin), options.group, options.topic)
            )
        if not options.no_record:
            checks.append(record_check.check_record(admin, target.address, target.secured, timeout_ms))
        for check in checks:
            async for diagnosis in check:
                yield diagnosis


def doctor(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek doctor``, returns the exit code."""
    return main(command, "doctor", arguments)
