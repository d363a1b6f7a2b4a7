"""``odradek storage adopt``: serves the log directories of a dead broker whose cluster metadata is lost.

The module imports only click; the command imports the broker when it runs, so that ``--help`` is fast.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

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


@click.command(
    help="Serve the disks of a dead broker without its cluster metadata: topics are found by their directories, and"
    " offsets, committed offsets and transactions do not change. Writes new cluster metadata, so that `odradek serve`"
    " and Apache Kafka can serve the directories too; --read-only changes no file.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("directories", nargs=-1, required=True, metavar="DIR...", type=DIRECTORY)
@click.option("--read-only", is_flag=True, help="Change nothing: serve to consumers, refuse everything else.")
@click.option("--no-serve", is_flag=True, help="Only write the metadata (with --read-only: only report what is found).")
@click.option("--conf", type=click.File(), metavar="FILE", help="A properties file with Kafka's keys, as for serve.")
@click.option("--override", "overrides", multiple=True, metavar="KEY=VALUE", help="Set one key; may be repeated.")
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="TOPIC:KEY=VALUE",
    help="A topic's configuration, which is not stored on the disks; may be repeated.",
)
@click.option(
    "--partitions", "counts", multiple=True, metavar="TOPIC=N", help="A topic's number of partitions; may be repeated."
)
@click.option("--node-id", type=click.IntRange(min=0), help="The node id if meta.properties has none.  [default: 1]")
@click.option("--cluster-id", metavar="ID", help="The cluster id if meta.properties has none.  [default: a new one]")
@click.option("--set-metadata-aside", is_flag=True, help="Adopt although cluster metadata exists, and rename that.")
@click.option(
    "--adopt-strays",
    is_flag=True,
    help="Also serve partitions that Kafka has renamed to <topic>-<number>.<id>-stray.",
)
@click.option(
    "--ready-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file to write when it serves: JSON with the actual ports.",
)
@click.option("--log-level", type=LEVELS, default="info", show_default=True)
def command(
    directories: tuple[Path, ...],
    read_only: bool,
    no_serve: bool,
    conf: TextIO | None,
    overrides: tuple[str, ...],
    configs: tuple[str, ...],
    counts: tuple[str, ...],
    node_id: int | None,
    cluster_id: str | None,
    set_metadata_aside: bool,
    adopt_strays: bool,
    ready_file: Path | None,
    log_level: str,
) -> int:
    """Reads the directories, prints the plan, writes, serves. Returns the exit code."""
    from .plan import AdoptionWishes
    from .rescue import Rescue

    wishes = AdoptionWishes(
        node_id=node_id,
        cluster_id=cluster_id,
        set_metadata_aside=set_metadata_aside,
        adopt_strays=adopt_strays,
        configs=topic_configs(configs),
        partition_counts=partition_counts(counts),
    )
    settings = [KEPT_OFFSETS, *(READ_ONLY_SETTINGS if read_only else ()), *overrides]
    paths = [path.absolute() for path in directories]
    properties = None if conf is None else conf.read()
    rescue = Rescue(paths, read_only=read_only, refusal=REFUSAL)
    problems = rescue.prepare(wishes, properties, settings, os.environ, no_serve=no_serve, show_plan=print_plan)
    if problems:
        for problem in problems:
            click.echo(f"odradek storage adopt: {problem}", err=True)
        return EXIT_FAILED
    if no_serve:
        if not read_only:
            click.echo(f"written; `odradek serve --override log.dirs={','.join(map(str, paths))}` serves it")
        return 0
    failure = rescue.serve(None if ready_file is None else str(ready_file), log_level)
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


def adopt(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek storage adopt``, returns the exit code."""
    try:
        result = command.main(args=arguments, prog_name="odradek storage adopt", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        error.show()
        return EXIT_USAGE
    except click.Abort:
        return 130
    return result if isinstance(result, int) else 0
