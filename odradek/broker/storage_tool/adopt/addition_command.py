"""``odradek storage add-topics``: adds topics to the metadata of a log directory that already has their partitions.

The module imports only click and small modules; the command imports the broker after it has checked the arguments.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import click

from odradek.protocol.common.command_options import argument, arguments, flag, option, repeated, takes
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.wall_clock import clock_ms
from odradek.storage.check.command import run

from .command import topic_configs

with lazy_imports:
    from ...config import server_config
    from ...server import commands, random_ids
    from . import addition, plan

DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)


@dataclass(frozen=True, kw_only=True)
class AdditionOptions:
    """The arguments of ``odradek storage add-topics``."""

    directory: Path = argument(metavar="DIR", type=DIRECTORY)
    names: tuple[str, ...] = arguments(required=True, metavar="TOPIC...")
    configs: tuple[str, ...] = repeated(
        "--config", metavar="TOPIC:KEY=VALUE", help="A topic's configuration; may be repeated."
    )
    restored: tuple[str, ...] = repeated(
        "--restored", metavar="TOPIC", hidden=True, help="Topics that get no configuration but the given ones."
    )
    kept: tuple[str, ...] = repeated(
        "--kept",
        metavar="TOPIC:KEY=VALUE",
        hidden=True,
        help="A configuration that a restored topic had. It is not checked: the broker ignores a bad one, and says so.",
    )
    internal: bool = flag("--internal", hidden=True, help="Internal topics may be among them, for an import.")
    node_id: int | None = option(
        "--node-id", type=click.IntRange(min=0), help="The node id of a new cluster.  [default: 1]"
    )
    cluster_id: str | None = option(
        "--cluster-id", metavar="ID", help="The id of a new cluster.  [default: a random one]"
    )
    check_configs: bool = flag("--check-configs", hidden=True, help="Only check the configurations, before an import.")


@click.command(
    help="Add topics to the cluster metadata in a log directory that already has their partitions: `odradek import`"
    " wrote them, or they were copied there. No broker may run. If the directory has no metadata, the command makes"
    " that of a new cluster. Unless --config sets it, data is kept forever (retention.ms=-1, retention.bytes=-1).",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(AdditionOptions)
def command(options: AdditionOptions) -> int:
    """Adds the topics. Returns the exit code."""
    given = topic_configs(options.configs)
    unknown = sorted(given.keys() - set(options.names))
    if unknown:
        raise click.UsageError(f"--config names topic {unknown[0]}, which is not among those to be added")
    path = options.directory.absolute()
    try:
        if options.check_configs:
            addition.check_configs(given, server_config.ServerConfig.load(None, [], os.environ))
            return 0
        now_ms = clock_ms()
        kept = topic_configs(options.kept)
        wishes = plan.AdoptionWishes(
            options.node_id,
            options.cluster_id,
            configs=given,
            kept_configs={name: kept.get(name, {}) for name in options.restored},
        )
        added = addition.add_topics(
            path,
            options.names,
            wishes,
            os.environ,
            may_be_internal=options.internal,
            now_ms=now_ms,
            random_uuid=random_ids.random_uuid,
        )
    except plan.AdoptionRefusedError as refused:
        raise click.ClickException("; ".join(refused.problems)) from refused
    except commands.START_ERRORS as error:
        raise click.ClickException(str(error)) from error
    for topic in added:
        click.echo(f"added topic {topic.name} with {topic.partition_count} partitions")
    click.echo(f"`odradek serve --override log.dirs={path}` serves it")
    return 0


def add_topics_command(command_line: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek storage add-topics``, returns the exit code."""
    return run(command, "odradek storage add-topics", command_line)
