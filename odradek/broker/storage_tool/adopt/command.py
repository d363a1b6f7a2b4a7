"""``odradek storage adopt``: serves the log directories of a dead broker whose cluster metadata is lost.

The module imports only click; the command imports the broker when it runs, so that ``--help`` is fast.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from odradek.protocol.common.command_options import arguments, flag, option, repeated, takes
from odradek.protocol.common.lazy_imports import lazy_imports

with lazy_imports:
    from . import plan as adopt_plan
    from . import rescue as adopt_rescue

if TYPE_CHECKING:
    from .plan import AdoptionPlan

EXIT_FAILED = 1
EXIT_USAGE = 2
NEVER_MINUTES = 2**31 - 1
KEPT_OFFSETS = f"offsets.retention.minutes={NEVER_MINUTES}"
"""Keeps committed offsets: the groups have no members after the start, so their offsets would otherwise expire."""
READ_ONLY_SETTINGS = ("auto.create.topics.enable=false", "log.cleaner.enable=false")
REFUSAL = "These are the disks of a dead broker, served read-only (odradek storage adopt --read-only)"


DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
LEVELS = click.Choice(["debug", "info", "warning", "error"])


@dataclass(frozen=True, kw_only=True)
class AdoptOptions:
    """The arguments of ``odradek storage adopt``."""

    directories: tuple[Path, ...] = arguments(required=True, metavar="DIR...", type=DIRECTORY)
    read_only: bool = flag("--read-only", help="Change nothing: serve to consumers, refuse everything else.")
    no_serve: bool = flag("--no-serve", help="Only write the metadata (with --read-only: only report what is found).")
    conf: TextIO | None = option(
        "--conf", type=click.File(), metavar="FILE", help="A properties file with Kafka's keys, as for serve."
    )
    overrides: tuple[str, ...] = repeated("--override", metavar="KEY=VALUE", help="Set one key; may be repeated.")
    configs: tuple[str, ...] = repeated(
        "--config",
        metavar="TOPIC:KEY=VALUE",
        help="A topic's configuration, which is not stored on the disks; may be repeated.",
    )
    counts: tuple[str, ...] = repeated(
        "--partitions", metavar="TOPIC=N", help="A topic's number of partitions; may be repeated."
    )
    node_id: int | None = option(
        "--node-id", type=click.IntRange(min=0), help="The node id if meta.properties has none.  [default: 1]"
    )
    cluster_id: str | None = option(
        "--cluster-id", metavar="ID", help="The cluster id if meta.properties has none.  [default: a new one]"
    )
    set_metadata_aside: bool = flag(
        "--set-metadata-aside", help="Adopt although cluster metadata exists, and rename that."
    )
    adopt_strays: bool = flag(
        "--adopt-strays", help="Also serve partitions that Kafka has renamed to <topic>-<number>.<id>-stray."
    )
    ready_file: Path | None = option(
        "--ready-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A file to write when it serves: JSON with the actual ports.",
    )
    log_level: str = option("--log-level", type=LEVELS, default="info", show_default=True)


@click.command(
    help="Serve the disks of a dead broker without its cluster metadata: topics are found by their directories, and"
    " offsets, committed offsets and transactions do not change. Writes new cluster metadata, so that `odradek serve`"
    " and Apache Kafka can serve the directories too; --read-only changes no file.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(AdoptOptions)
def command(options: AdoptOptions) -> int:
    """Reads the directories, prints the plan, writes, serves. Returns the exit code."""
    wishes = adopt_plan.AdoptionWishes(
        node_id=options.node_id,
        cluster_id=options.cluster_id,
        set_metadata_aside=options.set_metadata_aside,
        adopt_strays=options.adopt_strays,
        configs=topic_configs(options.configs),
        partition_counts=partition_counts(options.counts),
    )
    settings = [KEPT_OFFSETS, *(READ_ONLY_SETTINGS if options.read_only else ()), *options.overrides]
    paths = [path.absolute() for path in options.directories]
    properties = None if options.conf is None else options.conf.read()
    rescue = adopt_rescue.Rescue(paths, read_only=options.read_only, refusal=REFUSAL)
    problems = rescue.prepare(wishes, properties, settings, os.environ, no_serve=options.no_serve, show_plan=print_plan)
    if problems:
        for problem in problems:
            click.echo(f"odradek storage adopt: {problem}", err=True)
        return EXIT_FAILED
    if options.no_serve:
        if not options.read_only:
            click.echo(f"written; `odradek serve --override log.dirs={','.join(map(str, paths))}` serves it")
        return 0
    failure = rescue.serve(None if options.ready_file is None else str(options.ready_file), options.log_level)
    if failure is not None:
        click.echo(f"odradek storage adopt: {failure}", err=True)
        return EXIT_FAILED
    return 0


def topic_configs(texts: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Parses ``topic:key=value`` options: topic -> key -> value. Raises UsageError."""
    configs: dict[str, dict[str, str]] = defaultdict(dict)
    for text in texts:
        topic, colon, setting = text.partition(":")
        key, separator, value = setting.partition("=")
        if not colon or not separator or not topic or not key:
            raise click.UsageError(f"--config {text}: must be like orders:cleanup.policy=compact")
        configs[topic][key.strip()] = value.strip()
    return dict(configs)


def partition_counts(texts: tuple[str, ...]) -> dict[str, int]:
    """Parses ``topic=N`` options: topic -> N. Raises UsageError."""
    counts = {}
    for text in texts:
        topic, _, number = text.partition("=")
        if not topic or not number.isdigit() or not int(number):
            raise click.UsageError(f"--partitions {text}: must be like orders=12")
        counts[topic] = int(number)
    return counts


def print_plan(plan: AdoptionPlan) -> None:
    """Prints the topics and partitions of the plan, and its notes."""
    lying = sum(len(topic.partitions) for topic in plan.topics)
    click.echo(
        f"adopting {lying} partitions of {len(plan.topics)} topics as node {plan.node_id} of cluster {plan.cluster_id}"
    )
    for topic in plan.topics:
        click.echo(f"  {topic.name}: {len(topic.partitions)} of {topic.partition_count} partitions")
    for remark in plan.remarks:
        click.echo(f"note: {remark}")
    click.echo(
        "note: the disks do not store the topics' configurations: --config TOPIC:KEY=VALUE sets them. By default, data"
        " of all but internal topics is kept forever (retention.ms=-1, retention.bytes=-1)"
    )


def adopt(command_line: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek storage adopt``, returns the exit code."""
    try:
        result = command.main(args=command_line, prog_name="odradek storage adopt", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        error.show()
        return EXIT_USAGE
    except click.Abort:
        return 130
    return result if isinstance(result, int) else 0
