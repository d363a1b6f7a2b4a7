"""``odradek topics apply FILE`` and ``odradek topics export``: make the topics of a cluster as a file says.

``apply`` prints what it changes, asks the brokers whether they would accept all of it, and only then changes anything.
Exit codes: 0 done, or nothing to do; 1 refused or failed; with ``--plan`` 2 if there is something to do.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from odradek.protocol.common.command_options import argument, flag, included, option, takes
from odradek.protocol.common.lazy_imports import lazy_imports

from ..command_config import ConnectionOptions
from ..output import print_json
from ..running import CommandError, json_option, main, run, timeout_option, topic_pattern

with lazy_imports:
    from odradek.protocol.common import topics_file as common_topics_file

    from ...admin import topic_configs
    from ...admin import topics as admin_topics
    from .. import topic_partitions
    from . import plan

if TYPE_CHECKING:
    from odradek.protocol.common.topics_file import WantedTopic

    from ...admin.topic_configs import TopicConfigAdmin
    from .plan import TopicChange

OWN = "DYNAMIC_TOPIC_CONFIG"
SOMETHING_TO_DO = 2
CONTEXT = {"help_option_names": ["-h", "--help"]}


@dataclass(frozen=True, kw_only=True)
class ApplyOptions:
    """The arguments of ``apply``."""

    file: str = argument(type=click.Path(exists=True, dir_okay=False, allow_dash=True), metavar="FILE")
    connection: ConnectionOptions = included(ConnectionOptions)
    only_plan: bool = flag("--plan", help="TopicChange nothing; the exit code is 2 if there is something to do.")
    may_delete: bool = flag("--allow-delete", help="Delete topics for which the file says 'state: absent'.")
    prunes_configs: bool = flag(
        "--prune-configs", help="Delete configurations that are set for a topic of the file and that it does not name."
    )
    timeout_ms: int = timeout_option()
    as_json: bool = json_option()


@click.command(help="Make topics as a YAML file says; - reads standard input.", context_settings=CONTEXT)
@takes(ApplyOptions)
def apply_command(options: ApplyOptions) -> int:
    """Reads the file, then plans and applies it."""
    try:
        text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text()
        wanted = common_topics_file.read_topics(text)
    except (OSError, UnicodeDecodeError, common_topics_file.TopicsFileError) as error:
        raise CommandError(f"{options.file}: {error}") from None
    return run(lambda: _apply(options, wanted))


async def _apply(options: ApplyOptions, wanted: list[WantedTopic]) -> int:
    async with options.connection.admin(topic_configs.TopicConfigAdmin, options.timeout_ms) as admin:
        existing = await _existing(admin, {topic.name for topic in wanted})
        changes = plan.plan(wanted, existing, may_delete=options.may_delete, prunes_configs=options.prunes_configs)
        _show(changes, as_json=options.as_json)
        if any(change.action is plan.Action.REFUSE for change in changes):
            raise CommandError("nothing was changed, because of the lines with '!'")
        if options.only_plan:
            return SOMETHING_TO_DO if changes else 0
        await _carry_out(admin, changes, validate_only=True)
        await _carry_out(admin, changes)
    return 0


async def _existing(admin: TopicConfigAdmin, names: Collection[str]) -> dict[str, plan.ExistingTopic]:
    """The topics of these names that exist."""
    found = sorted(set(await admin.list_topics()).intersection(names))
    if not found:
        return {}
    described = await admin.describe_topics(found)
    entries = await admin.describe_configs("topic", found)
    return {
        name: plan.ExistingTopic(
            len(topic.partitions),
            max(len(partition.replicas) for partition in topic.partitions.values()),
            {entry.name: entry.value for entry in entries[name] if entry.value is not None},
            frozenset(entry.name for entry in entries[name] if entry.source == OWN),
        )
        for name, topic in described.items()
    }


def _show(changes: list[TopicChange], *, as_json: bool) -> None:
    """Prints the plan."""
    if as_json:
        print_json(
            [
                {"action": change.action.name.lower(), "topic": change.topic.name, "changes": change.lines}
                for change in changes
            ]
        )
        return
    for change in changes:
        click.echo(f"{change.action.value} {change.topic.name}")
        for line in change.lines:
            click.echo(f"    {line}")
    if not changes:
        click.echo("all topics are as the file says")


async def _carry_out(admin: TopicConfigAdmin, changes: list[TopicChange], *, validate_only: bool = False) -> None:
    """Makes the changes, deletions last. ``validate_only`` asks the brokers whether they would. Raises KafkaError."""
    new = [_new_topic(change.topic) for change in changes if change.action is plan.Action.CREATE]
    if new:
        await admin.create_topics(new, validate_only=validate_only)
    more = {change.topic.name: change.partitions for change in changes if change.partitions is not None}
    if more:
        await admin.create_partitions(more, validate_only=validate_only)
    for change in changes:
        if change.set_configs or change.delete_configs:
            await admin.incremental_alter_configs(
                "topic",
                change.topic.name,
                set_configs=change.set_configs,
                delete_configs=change.delete_configs,
                validate_only=validate_only,
            )
    gone = [change.topic.name for change in changes if change.action is plan.Action.DELETE]
    if gone and not validate_only:
        await admin.delete_topics(gone)


def _new_topic(topic: WantedTopic) -> admin_topics.NewTopic:
    return admin_topics.NewTopic(topic.name, topic.partitions or -1, topic.replicas or -1, configs=dict(topic.config))


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """The arguments of ``export``."""

    connection: ConnectionOptions = included(ConnectionOptions)
    topic: str | None = option("--topic", help="Only the topics that match this regular expression.")
    timeout_ms: int = timeout_option()


@click.command(help="Print the topics of a cluster as a file for 'topics apply'.", context_settings=CONTEXT)
@takes(ExportOptions)
def export_command(options: ExportOptions) -> int:
    """Prints the file."""
    pattern = None if options.topic is None else topic_pattern(options.topic, "--topic")

    async def work() -> None:
        async with options.connection.admin(topic_configs.TopicConfigAdmin, options.timeout_ms) as admin:
            names = [name for name in await admin.list_topics() if name not in topic_partitions.INTERNAL_TOPICS]
            chosen = [name for name in names if pattern is None or pattern.fullmatch(name)]
            existing = await _existing(admin, chosen)
        topics = [
            common_topics_file.WantedTopic(
                name, 0, False, topic.partitions, topic.replicas, {key: topic.config[key] for key in topic.own}
            )
            for name, topic in existing.items()
        ]
        click.echo(common_topics_file.write_topics(topics), nl=False)

    return run(work)


ACTIONS = {"apply": apply_command, "export": export_command}


def topics_file(action: str, arguments: list[str]) -> int:
    """Runs ``odradek topics apply`` or ``export``; returns the exit code."""
    return main(ACTIONS[action], f"topics {action}", arguments)
