"""``odradek storage explain``: shows for each topic which records it has, why they are not deleted yet, and when they
will be.

Reads the directories, even of a running broker, without a lock and without changing them. Asks a running broker, of any
kind, for their paths (DescribeLogDirs, KIP-113), which are valid only on its machine.
"""

import json
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from odradek.protocol.common.command_options import arguments, flag, option, repeated, takes
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.errors import ErrorCode, KafkaError, ProtocolError
from odradek.protocol.exchange import Exchange, ResponseLimits
from odradek.protocol.framing.frames import Frames
from odradek.protocol.messages.log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from odradek.storage.check.command import run
from odradek.storage.compaction.grouping import first_dirty_offset
from odradek.storage.directory.directory_lock import lock_holder
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.file_names import DELETE_DIRECTORY_SUFFIX, DELETED_SUFFIX
from odradek.storage.files.files import Files
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig

from ..config.server_config import ServerConfig
from ..metadata.image.image import MetadataCorruption
from ..metadata.log.log_reader import MetadataLogError
from ..replicas.directories.disk_space import CAP_KEY, MIN_FREE_KEY, free_space_marks, in_words, min_free_bytes
from .configuration import all_directories, load_configuration
from .explanation import ExplainedTransaction, Explanation, PartitionOnDisk, SegmentOnDisk, explain_partition
from .offline import OfflineDirectories

VERSION = 1
"""The lowest version that Kafka 4 serves; older brokers serve it, too."""
TIMEOUT_S = 30.0
MOST_BYTES = 100 << 20
NO_KAFKA = "an answer of {size} bytes; is this a Kafka listener without TLS? (size)"
BROKER = ResponseLimits(MOST_BYTES, 64 * 1024, Frames(lambda size, _limit: NO_KAFKA.format(size=size)), short=NO_KAFKA)


def directories_of(server: str) -> list[Path]:
    """The log directories of the broker at ``host:port``. Raises click.ClickException with what to do."""
    host, colon, port = server.rpartition(":")
    if not colon or not port.isdecimal():
        raise click.UsageError(f"--bootstrap-server {server}: must be HOST:PORT")
    try:
        response = _ask(host.strip("[]"), int(port))
    except (OSError, ProtocolError) as problem:
        raise click.ClickException(
            f"can't get the log directories of {server}: {problem}; name the directories instead"
        ) from problem
    found = [Path(result.log_dir) for result in response.results if result.error_code == ErrorCode.NONE]
    missing = [path for path in found if not path.is_dir()]
    if missing or not found:
        raise click.ClickException(
            f"{server} has its data in {', '.join(map(str, missing)) or 'no directory that is online'}, which is not on"
            " this machine: run this command where the broker runs"
        )
    return found


def _ask(host: str, port: int) -> DescribeLogDirsResponse:
    """Sends the request; returns the response. Raises OSError, ProtocolError."""
    exchange = Exchange("odradek-storage", BROKER)
    with socket.create_connection((host, port), timeout=TIMEOUT_S) as connection:
        exchange.request(DescribeLogDirsRequest(None), VERSION, DescribeLogDirsResponse, None, TIMEOUT_S, 0.0)
        connection.sendall(exchange.take_unsent())
        while exchange.failure is None:
            count = connection.recv_into(exchange.target())
            if not count:
                raise OSError("the connection was closed; is this a Kafka listener without TLS and SASL?")
            for _, response in exchange.received(count, 0.0):
                assert isinstance(response, DescribeLogDirsResponse)
                return response
        raise exchange.failure


KEYS = ("cleanup.policy", "retention.ms", "retention.bytes", "segment.ms", "segment.bytes")


@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """The arguments of ``odradek storage explain``."""

    directories: tuple[Path, ...] = arguments(metavar="[DIR]...", type=click.Path(path_type=Path))
    path: Path | None = option(
        "-c", "--config", type=click.Path(path_type=Path), help="The broker's configuration file."
    )
    server: str | None = option(
        "--bootstrap-server", help="HOST:PORT of a broker on this machine: use its directories."
    )
    topics: tuple[str, ...] = repeated("--topic", help="Only this topic; may be repeated.")
    as_json: bool = flag("--json", help="Print one JSON document per line, for each partition.")


def explain(command_line: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek storage explain``, returns the exit code."""
    return run(command, "odradek storage explain", command_line)


@click.command(
    help="Show for each topic what it keeps, why it is not deleted yet, and when it will be. DIR: the log directories"
    " of one node; a broker may be running there. Topic configurations come from the metadata log in them, the"
    " broker's own from --config.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(ExplainOptions)
def command(options: ExplainOptions) -> int:
    """Prints the explanation of each partition. Returns the exit code."""
    config = ServerConfig.load() if options.path is None else load_configuration(options.path)
    if options.path is None and options.server is None and not options.directories:
        raise click.UsageError("name the log directories, --config or --bootstrap-server")
    if options.server is not None and options.directories:
        raise click.UsageError("name directories or --bootstrap-server, not both")
    chosen = list(options.directories) if options.server is None else directories_of(options.server)
    chosen = chosen or all_directories(config)
    now_ms = clock_ms()
    try:
        with _hide_repair_warnings(), OfflineDirectories(chosen, config, now_ms) as offline:
            if not options.as_json:
                _print_free_space(offline)
            _explain_all(offline, frozenset(options.topics), as_json=options.as_json)
    except (KafkaError, MetadataLogError, MetadataCorruption) as problem:
        raise click.ClickException(str(problem)) from problem
    return 0


@contextmanager
def _hide_repair_warnings() -> Iterator[None]:
    """Hides the warnings of the log loader, which say that it repairs files: here it does so only in memory.

    A running broker writes leader epochs only when it flushes, so nearly every log would cause a warning. `odradek
    storage check` and `repair --dry-run` report real damage.
    """
    logger = logging.getLogger("odradek.storage")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _print_free_space(offline: OfflineDirectories) -> None:
    """Prints the free space of the file systems, and its effect on a broker."""
    for directory in offline.directories:
        free, total = Files().space(directory.path)
        marks = free_space_marks(min_free_bytes(offline.config.get_int(MIN_FREE_KEY), total))
        click.echo(f"{directory.path}: {in_words(free)} of {in_words(total)} free", nl=False)
        if free < marks.full:
            click.echo(f"; producers are refused until {in_words(marks.resume)} are free ({MIN_FREE_KEY})", nl=False)
        if lock_holder(directory.path) is not None:
            click.echo("; a broker is running here", nl=False)
        click.echo()
    cap = offline.config.get_int(CAP_KEY)
    if cap >= 0:
        click.echo(
            f"{CAP_KEY} is {in_words(cap)}: near it the oldest segments of topics with cleanup.policy=delete are"
            " deleted, even if the lines below say that they stay"
        )


def _explain_all(offline: OfflineDirectories, topics: frozenset[str], *, as_json: bool) -> None:
    interval_ms = offline.config.get_int("log.retention.check.interval.ms")
    shown = ""
    for directory, topic, partition, log in offline.logs(topics):
        if topic != shown and not as_json:
            shown = topic
            click.echo(f"\n{topic} ({_configs(offline, topic)})")
        if isinstance(log, str):
            if as_json:
                click.echo(json.dumps({"topic": topic, "partition": partition, "problem": log}))
            else:
                click.echo(f"  {topic}-{partition}: {log}")
            continue
        facts = facts_of(log, directory, topic, partition, offline.now_ms)
        explained = explain_partition(facts, log.config, interval_ms, offline.now_ms)
        if as_json:
            click.echo(json.dumps(_document(facts, explained, log.config, directory)))
        else:
            _print(facts, explained)
    for directory in offline.directories:
        for entry in Files().list(directory.path):
            if entry.name.endswith(DELETE_DIRECTORY_SUFFIX) and not topics and not as_json:
                click.echo(
                    f"\n{entry.name}: of a deleted topic; removed after file.delete.delay.ms or at the next start"
                )


def _configs(offline: OfflineDirectories, topic: str) -> str:
    """The relevant configurations, with their sources."""
    own = offline.topic_overrides(topic)
    config = offline.config_of(topic)
    values = {
        "cleanup.policy": ",".join(sorted(config.cleanup_policy)),
        "retention.ms": str(config.retention_ms),
        "retention.bytes": str(config.retention_bytes),
        "segment.ms": str(config.segment_ms),
        "segment.bytes": str(config.segment_bytes),
    }
    return ", ".join(f"{key}={values[key]}{'' if key in own else ' by default'}" for key in KEYS)


def facts_of(log: Log, directory: LogDirectory, topic: str, partition: int, now_ms: int) -> PartitionOnDisk:
    """The facts about an open log that the explanation needs. Raises OSError."""
    segments = list(log.segments)
    ends = [segment.base_offset for segment in segments[1:]] + [log.log_end_offset]
    on_disk = [
        SegmentOnDisk(
            segment.base_offset,
            end,
            segment.size,
            segment.largest_timestamp,
            segment.time_waited_for_roll(now_ms, now_ms) if segment is segments[-1] else 0,
        )
        for segment, end in zip(segments, ends, strict=True)
    ]
    cleaned, _ = first_dirty_offset(
        directory.cleaner_offsets.get((topic, partition)), log.log_start_offset, log.log_end_offset
    )
    sealed = on_disk[:-1]
    dirty = [segment for segment in sealed if segment.end_offset > cleaned]
    deleted = [entry.stat().st_size for entry in Files().list(log.directory) if entry.name.endswith(DELETED_SUFFIX)]
    return PartitionOnDisk(
        topic,
        partition,
        on_disk,
        log.log_start_offset,
        log.log_end_offset,
        log.last_stable_offset,
        [
            ExplainedTransaction(producer.producer_id, producer.transaction_first_offset, producer.last_timestamp)
            for producer in log.producer_state.producers.values()
            if producer.transaction_first_offset is not None
        ],
        len(deleted),
        sum(deleted),
        cleaned,
        sum(segment.size for segment in dirty),
        sum(segment.size for segment in sealed if segment.end_offset <= cleaned),
        min((segment.largest_timestamp for segment in dirty), default=None),
    )


def _print(facts: PartitionOnDisk, explained: Explanation) -> None:
    first, *others = explained.sentences
    click.echo(f"  {facts.topic}-{facts.partition}: {first}")
    for sentence in others:
        click.echo(f"    {sentence}")


def _document(
    facts: PartitionOnDisk, explained: Explanation, config: LogConfig, directory: LogDirectory
) -> dict[str, Any]:
    return {
        "topic": facts.topic,
        "partition": facts.partition,
        "directory": str(directory.path),
        "bytes": facts.size,
        "segments": len(facts.segments),
        "logStartOffset": facts.log_start_offset,
        "logEndOffset": facts.log_end_offset,
        "lastStableOffset": facts.last_stable_offset,
        "cleanupPolicy": sorted(config.cleanup_policy),
        "oldestSegmentGoesMs": explained.oldest_goes_ms,
        "deletedFiles": facts.deleted_files,
        "deletedBytes": facts.deleted_bytes,
        "explanation": explained.sentences,
    }
