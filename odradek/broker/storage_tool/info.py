"""``odradek storage info``: prints the log directories, their ids, and their problems.

Prints the same as ``kafka-storage.sh info``, then for each directory the process of a running broker or whether the
last stop was clean, and the disk space.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from odradek.protocol.common.command_options import arguments, flag, option, takes
from odradek.storage.check.command import run
from odradek.storage.directory.directory_lock import LOCK_FILE, lock_holder
from odradek.storage.errors import CorruptCheckpointError
from odradek.storage.files.disk_reserve import ReservedFiles
from odradek.storage.files.disk_usage import allocated_bytes
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import MetaProperties, read_clean_shutdown, read_meta_properties, uuid_text

from ..replicas.directories.disk_space import in_words
from .configuration import all_directories, load_configuration


@dataclass(frozen=True, kw_only=True)
class InfoOptions:
    """The arguments of ``odradek storage info``."""

    path: Path | None = option("-c", "--config", type=click.Path(path_type=Path), help="The configuration file.")
    directories: tuple[Path, ...] = arguments(metavar="[DIR]...", type=click.Path(path_type=Path))
    as_json: bool = flag("--json", help="Print one JSON document.")


def info(command_line: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek storage info``, returns the exit code."""
    return run(command, "odradek storage info", command_line)


@click.command(
    help="Describe the log directories of a configuration, or the given ones. The exit code is 1 if one is missing, not"
    " formatted, or of another node or cluster than the others.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(InfoOptions)
def command(options: InfoOptions) -> int:
    """Describes the log directories. Returns the exit code."""
    if options.path is not None and options.directories:
        raise click.UsageError("name --config or directories, not both")
    if options.path is None and not options.directories:
        raise click.UsageError("argument --config/-c is required, or directories")
    chosen = list(options.directories) if options.path is None else all_directories(load_configuration(options.path))
    found, problems = [], []
    metas: dict[Path, MetaProperties] = {}
    for directory in chosen:
        if not directory.is_dir():
            problems.append(f"{directory} {'is not a directory' if directory.exists() else 'does not exist'}")
            continue
        found.append(directory)
        try:
            meta = read_meta_properties(Files(), directory)
        except CorruptCheckpointError as damage:
            problems.append(str(damage))
            continue
        if meta is None:
            problems.append(f"{directory} is not formatted.")
        else:
            metas[directory] = meta
    problems += _contradictions(metas)
    if options.as_json:
        click.echo(
            json.dumps(
                {"directories": [_facts(directory, metas.get(directory)) for directory in found], "problems": problems}
            )
        )
    else:
        _print(found, metas, problems)
    return 1 if problems else 0


def _contradictions(metas: dict[Path, MetaProperties]) -> list[str]:
    problems = []
    first = next(iter(metas.values()), None)
    for directory, meta in metas.items():
        assert first is not None
        if meta.cluster_id != first.cluster_id:
            problems.append(f"{directory} has cluster.id {meta.cluster_id}, others {first.cluster_id}")
        if meta.node_id != first.node_id:
            problems.append(f"{directory} has node.id {meta.node_id}, others {first.node_id}")
    return problems


def _facts(directory: Path, meta: MetaProperties | None) -> dict[str, Any]:
    holder = lock_holder(directory)
    free, total = Files().space(directory)
    return {
        "path": str(directory),
        "cluster.id": None if meta is None else meta.cluster_id,
        "node.id": None if meta is None else meta.node_id,
        "directory.id": None if meta is None or not meta.directory_id else uuid_text(meta.directory_id),
        "runningProcess": holder,
        "wasStoppedCleanly": read_clean_shutdown(Files(), directory) is not None,
        "bytes": allocated_bytes(Files(), directory),
        "freeBytes": free,
        "totalBytes": total,
        "reservedBytes": ReservedFiles(directory).reserved_bytes,
    }


def _print(found: list[Path], metas: dict[Path, MetaProperties], problems: list[str]) -> None:
    if found:
        click.echo("Found log director" + ("y:" if len(found) == 1 else "ies:"))
        for directory in found:
            click.echo(f"  {directory}")
        click.echo()
    for meta in list(metas.values())[:1]:
        identity = f", directory.id={uuid_text(meta.directory_id)}" if meta.directory_id else ""
        click.echo(f"Found metadata: {{cluster.id={meta.cluster_id}{identity}, node.id={meta.node_id}, version=1}}")
        click.echo()
    for directory in metas:
        facts = _facts(directory, metas[directory])
        holder = facts["runningProcess"]
        state = (
            f"a broker runs here (process {holder})"
            if holder
            else "stopped cleanly"
            if facts["wasStoppedCleanly"]
            else "no broker has run here yet"
            if not (directory / LOCK_FILE).exists()
            else "not stopped cleanly: the next start recovers it"
        )
        click.echo(
            f"{directory}: {state}; {in_words(facts['bytes'])} used, {in_words(facts['freeBytes'])} of "
            f"{in_words(facts['totalBytes'])} free, reserve {in_words(facts['reservedBytes'])}"
        )
    if problems:
        click.echo(("\n" if metas else "") + "Found problem" + (":" if len(problems) == 1 else "s:"))
        for problem in problems:
            click.echo(f"  {problem}")
        click.echo()
