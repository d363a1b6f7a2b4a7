"""``odradek storage format`` and ``odradek storage random-uuid``, with the options of ``kafka-storage.sh``.

Apache Kafka 4.4 accepts a directory formatted by this command, earlier releases one of their own levels
(``--release-version 4.3``), and Odradek accepts one formatted by Kafka. ``odradek serve`` formats a new directory by
itself; use ``format`` to choose the cluster id, feature levels or SCRAM users.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import click

from odradek.protocol.apis.metadata_versions import LEVELS, level_name, release_level
from odradek.protocol.common.command_options import flag, option, repeated, takes
from odradek.protocol.common.wall_clock import clock_ms
from odradek.storage.check.command import run
from odradek.storage.errors import CorruptCheckpointError
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import (
    META_PROPERTIES,
    MetaProperties,
    parse_uuid,
    read_meta_properties,
    uuid_text,
)

from ..config.server_config import ServerConfig
from ..metadata.image.features import (
    BOOTSTRAP_METADATA_VERSION,
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    ELR_SUPPORTED,
    FORMER_METADATA_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    SUPPORTED_FEATURES,
    default_features,
    feature_records,
    no_way_back,
)
from ..metadata.publisher.service import controller_endpoint
from ..server import random_ids
from .configuration import all_directories, load_configuration, metadata_directory
from .formatting import MetadataFormat, bootstrap_snapshot, format_directory
from .scram import scram_record

SCRAM_SINCE = LEVELS["3.5-IV2"]


@dataclass(frozen=True, kw_only=True)
class FormatOptions:
    """The options of ``odradek storage format``."""

    path: Path = option(
        "-c", "--config", required=True, type=click.Path(path_type=Path), help="The configuration file."
    )
    cluster_id: str = option("-t", "--cluster-id", required=True, help="The cluster ID to use; random-uuid prints one.")
    scram: tuple[str, ...] = repeated("-S", "--add-scram", help="A SCRAM user: SCRAM-SHA-256=[name=...,password=...].")
    ignore_formatted: bool = flag("-g", "--ignore-formatted", help="Skip directories that are formatted already.")
    release_version: str | None = option(
        "-r", "--release-version", help="The release whose feature levels to use.  [default: 4.4-IV2]"
    )
    features: tuple[str, ...] = repeated("-f", "--feature", help="The level of a feature: NAME=LEVEL.")
    standalone: bool = flag("-s", "--standalone", help="Make this node the only voter of a dynamic quorum.")
    no_controllers: bool = flag(
        "-N", "--no-initial-controllers", help="Begin without voters; for process.roles=broker only."
    )
    controllers: str | None = option(
        "-I", "--initial-controllers", help="The only voter, this node: ID@HOST:PORT:DIRECTORY."
    )


SALT_BYTES = 16


def random_uuid(arguments: list[str]) -> int:
    """Entry point of ``random-uuid``: prints an id."""
    return run(random_uuid_command, "odradek storage random-uuid", arguments)


def format_directories(arguments: list[str]) -> int:
    """Entry point of ``format``: takes the arguments after it, returns the exit code."""
    return run(format_command, "odradek storage format", arguments)


@click.command(help="Print a random uuid, for --cluster-id.", context_settings={"help_option_names": ["-h", "--help"]})
def random_uuid_command() -> int:
    """Prints the id. Returns the exit code."""
    click.echo(uuid_text(random_ids.random_uuid()))
    return 0


@click.command(
    help="Format the Kafka log directories: write meta.properties, the feature levels and users of the cluster, and"
    " with --standalone this node as the only voter.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(FormatOptions)
def format_command(options: FormatOptions) -> int:
    """Formats the directories that are not formatted yet. Returns the exit code."""
    if sum([options.standalone, options.no_controllers, options.controllers is not None]) > 1:
        raise click.UsageError(
            "only one of --standalone, --no-initial-controllers and --initial-controllers can be used"
        )
    config = load_configuration(options.path)
    if options.no_controllers and config.get_list("process.roles") != ["broker"]:
        raise click.ClickException(
            "--no-initial-controllers is for a node that joins controllers elsewhere; Odradek is its own"
            " controller, unless process.roles=broker is set. Use --standalone, or controller.quorum.voters in the"
            " configuration."
        )
    given_id = _given_directory_id(config, options.controllers)
    is_dynamic = _is_dynamic(config, standalone=options.standalone or options.controllers is not None)
    levels = _levels(options.release_version, options.features, is_dynamic=is_dynamic)
    level = levels[METADATA_VERSION]
    records = feature_records(levels)
    try:
        records += [scram_record(text, os.urandom(SALT_BYTES)) for text in options.scram]
    except ValueError as problem:
        raise click.ClickException(str(problem)) from problem
    if options.scram and level < SCRAM_SINCE:
        raise click.ClickException("SCRAM is only supported in metadata.version 3.5-IV2 or later.")
    now_ms = clock_ms()
    new = _unformatted(config, options.cluster_id, ignore_formatted=options.ignore_formatted)
    if not new:
        click.echo("All of the log directories are already formatted.")
        return 0
    endpoint = controller_endpoint(config)
    bootstrap = bootstrap_snapshot(records, now_ms) if level <= FORMER_METADATA_VERSION else None
    click.echo("Features: " + ", ".join(f"{name}={number}" for name, number in levels.items()))
    for directory in new:
        metadata = None
        if directory == metadata_directory(config) and config.get_list("process.roles") != ["broker"]:
            if bootstrap is None:
                metadata = MetadataFormat(endpoint if is_dynamic else None, records)
            elif is_dynamic:
                metadata = MetadataFormat(endpoint)
        is_voter = metadata is not None and metadata.voter_endpoint is not None
        directory_id = given_id if is_voter and given_id is not None else random_ids.random_uuid()
        what = "dynamic metadata voter" if is_voter else "data" if metadata is None else "metadata"
        click.echo(f"Formatting {what} directory {directory} with {METADATA_VERSION} {level_name(level)}.")
        meta = MetaProperties(options.cluster_id, config.node_id, directory_id)
        format_directory(Files(), directory, meta, bootstrap, metadata, now_ms)
    if bootstrap is None:
        click.echo(no_way_back(level) + ". --release-version 4.3 formats for Kafka 4.3.")
    return 0


def _is_dynamic(config: ServerConfig, *, standalone: bool) -> bool:
    """Whether the quorum is dynamic: this node is written into the directory as voter, since the configuration names
    no voters. Raises click.ClickException if options and configuration contradict each other.
    """
    has_voters = bool(config["controller.quorum.voters"])
    if standalone and has_voters:
        raise click.ClickException("You cannot specify --standalone when controller.quorum.voters is set.")
    if config.get_list("process.roles") == ["broker"]:
        if standalone:
            raise click.ClickException(
                "--standalone and --initial-controllers are for a node with the controller role: process.roles=broker"
                " makes this one a broker of a cluster that others control. Leave them out"
            )
        return False
    if not standalone and not has_voters and config["controller.quorum.bootstrap.servers"]:
        raise click.ClickException(
            "Because controller.quorum.voters is not set on this controller, you must specify --standalone."
        )
    return not has_voters


def _given_directory_id(config: ServerConfig, controllers: str | None) -> bytes | None:
    """The directory id in ``--initial-controllers``; None without it. Raises click.ClickException if the option names
    any other node than this one.
    """
    if controllers is None:
        return None
    node, _, address = controllers.partition("@")
    if "," in controllers or node != str(config.node_id):
        raise click.ClickException(
            f"--initial-controllers must name this node alone, {config.node_id}@host:port:directory:"
            " Odradek is its own quorum of one"
        )
    try:
        return parse_uuid(address.rpartition(":")[2])
    except ValueError as problem:
        raise click.ClickException(f"--initial-controllers: {problem}") from problem


def _levels(release_version: str | None, features: tuple[str, ...], *, is_dynamic: bool) -> dict[str, int]:
    """The feature levels to finalize, from the options. Raises click.ClickException."""
    try:
        level = BOOTSTRAP_METADATA_VERSION if release_version is None else release_level(release_version)
    except ValueError as problem:
        raise click.ClickException(str(problem)) from problem
    levels = default_features(level)
    for text in features:
        name, _, number = text.partition("=")
        if not number.isdecimal():
            raise click.ClickException(f"Can't parse feature=level string {text}: a number after = is expected.")
        _check_feature(name, int(number), release_version, is_dynamic=is_dynamic)
        if name != KRAFT_VERSION:  # kraft.version has no feature record: it is in the checkpoint with the voter
            levels[name] = int(number)
    if levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION) and levels[METADATA_VERSION] < ELR_SUPPORTED:
        raise click.ClickException(f"{ELIGIBLE_LEADER_REPLICAS_VERSION} 1 needs {METADATA_VERSION} 4.0-IV1 or later.")
    return levels


def _check_feature(name: str, level: int, release_version: str | None, *, is_dynamic: bool) -> None:
    if name not in SUPPORTED_FEATURES:
        supported = ", ".join(sorted(SUPPORTED_FEATURES))
        raise click.ClickException(f"Unsupported feature: {name}. Supported features are: {supported}")
    lowest, highest = SUPPORTED_FEATURES[name]
    if not lowest <= level <= highest:
        raise click.ClickException(f"No feature:{name} with feature level {level}: {lowest} to {highest} are supported")
    if name == METADATA_VERSION and release_version is not None:
        raise click.ClickException(f"Use --release-version or --feature {METADATA_VERSION}=LEVEL, not both.")
    if name == KRAFT_VERSION and bool(level) is not is_dynamic:
        raise click.ClickException(
            f"{KRAFT_VERSION} is 1 with --standalone and 0 with controller.quorum.voters, not {level}"
        )


def _unformatted(config: ServerConfig, cluster_id: str, *, ignore_formatted: bool) -> list[Path]:
    """The directories to format. Raises click.ClickException if one belongs to another cluster, is damaged, or is
    formatted already without ``ignore_formatted``.
    """
    new = []
    for directory in all_directories(config):
        try:
            meta = read_meta_properties(Files(), directory)
        except CorruptCheckpointError as damage:
            raise click.ClickException(f"{damage}. Remove the file to format the directory anew.") from damage
        if meta is None:
            new.append(directory)
            continue
        if meta.cluster_id != cluster_id:
            where = directory / META_PROPERTIES
            raise click.ClickException(
                f"Invalid cluster.id in: {where}. Expected {cluster_id}, but read {meta.cluster_id}"
            )
        if not ignore_formatted:
            raise click.ClickException(
                f"Log directory {directory} is already formatted. Use --ignore-formatted to ignore this directory and"
                " format the others."
            )
    return new
