"""The command `odradek import`: its options and its exit code."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.common.command_arguments import add_arguments, argument, parse
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.names.topics import INTERNAL_TOPICS
from odradek.protocol.records.compression import COMPRESSION_NAMES, CompressionType
from odradek.storage.errors import CorruptCheckpointError, DirectoryLockedError

from ..command_line import interruptible, no_way_back, path_on_disk
from ..engine.job import EngineError
from .inputs import ImportRefusedError

with lazy_imports:
    import rich.console

    from odradek.storage import subcommands

    from . import job
    from . import state as importing_state

if TYPE_CHECKING:
    from .job import ImportOrder
    from .partition_files import WrittenPartition

DONE, REFUSED = 0, 1
"""Exit codes; 2 is wrong usage."""
MOST_SEGMENT_BYTES = 0x7FFFFFFF
RETENTION_KEYS = ("retention.ms", "retention.bytes")


class ImportArguments(NamedTuple):
    """The arguments of ``odradek import``."""

    inputs: list[Path] = argument(nargs="+", metavar="INPUT", type=path_on_disk, help="files, or folders of files")
    into: Path = argument("--into", required=True, metavar="DIR", type=path_on_disk, help="a log directory (log.dirs)")
    topic: str | None = argument("--topic", help="the topic of all rows; a column topic is ignored")
    partitions: int | None = argument(
        "--partitions",
        type=int,
        metavar="N",
        help="spread the rows over N partitions by their keys, as Java's producer does; offsets are new",
    )
    partition_count: list[str] = argument(
        "--partition-count",
        action="append",
        default=[],
        metavar="TOPIC=N",
        help="the topic has N partitions, even if the last ones have no rows; may be repeated",
    )
    offsets: str | None = argument(
        "--offsets",
        choices=("keep", "new"),
        help="keep: as in the input, with gaps; new: from 0 in each partition (default: keep; new with --partitions)",
    )
    encoding: str = argument(
        "--encoding",
        choices=("text", "base64"),
        default="text",
        help="the encoding of texts in JSON lines (default: text)",
    )
    codec: str = argument("--codec", choices=COMPRESSION_NAMES, default="none")
    segment_bytes: int = argument("--segment-bytes", type=int, default=1 << 30, metavar="BYTES")
    batch_bytes: int = argument(
        "--batch-bytes", type=int, default=16_384, metavar="BYTES", help="bytes of a batch, uncompressed"
    )
    config: list[str] = argument(
        "--config",
        action="append",
        default=[],
        metavar="TOPIC:KEY=VALUE",
        help="a config of a topic; retention.ms and retention.bytes are -1 by default, which keeps old rows",
    )
    no_state: bool = argument(
        "--no-state", action="store_true", help="import only the rows of an export, without its _state"
    )
    node_id: int | None = argument(
        "--node-id", type=int, metavar="ID", help="the node id of a new directory (default: 1)"
    )
    cluster_id: str | None = argument(
        "--cluster-id", metavar="ID", help="the cluster id of a new directory (default: a new one)"
    )
    workers: int | None = argument("--workers", type=int, metavar="N", help="processes (default: one for each core)")


def parser() -> argparse.ArgumentParser:
    """The options of ``odradek import``."""
    options = argparse.ArgumentParser(
        prog="odradek import",
        description="Creates topics in a log directory that no broker has open, from Parquet or JSON lines. The columns"
        " are key, value, topic, partition, offset, timestamp, timestampType and headers, as in the output of"
        " `odradek export` and in Spark's Kafka source. Only value is required.",
        epilog="A topic that exists already is refused. The directory may be new; `odradek serve --override"
        " log.dirs=DIR` serves it.",
    )
    add_arguments(options, ImportArguments)
    return options


@interruptible("import", "nothing was imported, and unfinished files are removed")
def import_topics(arguments: Sequence[str]) -> int:
    """Runs the command. Returns 0: the topics exist, 1: nothing was imported."""
    options = parser()
    chosen = parse(options, ImportArguments, arguments)
    try:
        order = _order(chosen, options)
    except ImportError as error:
        return _refuse_without_extra(error)
    except (ImportRefusedError, OSError) as error:
        return _refuse(str(error))
    if not _good_configs(chosen.config, order):
        return REFUSED
    with no_way_back() as before_naming:  # named partitions without metadata would be an incomplete import
        try:
            written = _import(order, before_naming)
        except (EngineError, DirectoryLockedError, CorruptCheckpointError, OSError) as error:
            return _refuse(str(error))
        except ImportError as error:
            return _refuse_without_extra(error)
        return REFUSED if written is None else _end(order, written, chosen.config)


def _end(order: "ImportOrder", written: "Sequence[WrittenPartition]", given_configs: Sequence[str]) -> int:
    """Prints the summary and adds the topics to the metadata."""
    of_topics: dict[str, list[WrittenPartition]] = {}
    for partition in written:
        of_topics.setdefault(partition.topic, []).append(partition)
    topics = sorted(of_topics)
    for topic in topics:
        of_topic = of_topics[topic]
        records, size = sum(partition.records for partition in of_topic), sum(partition.size for partition in of_topic)
        print(f"{topic}: {len(of_topic)} partitions, {records} records, {size} bytes")
    for text in _notes(order, of_topics, given_configs):
        print(f"odradek import: note: {text}", file=sys.stderr)
    return _make_known(order, topics, _config_options(order, topics, given_configs))


def _notes(
    order: "ImportOrder", of_topics: "Mapping[str, Sequence[WrittenPartition]]", given_configs: Sequence[str]
) -> Iterator[str]:
    """Texts about rows that were left out, and about what a restore may surprise with."""
    for topic, partitions in of_topics.items():
        for count, what in (
            (sum(one.deleted for one in partitions), "below the log start offset, where records are deleted"),
            (sum(one.aborted for one in partitions), "of aborted transactions"),
            (sum(one.undecided for one in partitions), "of open transactions, which a broker would abort"),
        ):
            if count:
                yield f"{topic}: left out {count} rows {what}; --no-state imports them"
    for topic in sorted(order.state.coordinator_inputs.keys() - of_topics.keys()):
        yield f"{topic} is not imported, because {order.directory} has one"
    given = {text.partition("=")[0] for text in given_configs}
    kept = [
        topic
        for topic, state in order.state.topics.items()
        if topic in of_topics and state.configs is not None and topic not in INTERNAL_TOPICS
        if not any(f"{topic}:{key}" in given or state.configs.get(key) == "-1" for key in RETENTION_KEYS)
        if "delete" in state.configs.get("cleanup.policy", "delete")
    ]
    if kept:
        names = ", ".join(kept[:3]) + (f" and {len(kept) - 3} more" if len(kept) > 3 else "")
        yield (
            f"{names}: retention is as it was (a week by default), and deletes older records when a broker serves "
            "them; --config TOPIC:retention.ms=-1 keeps them"
        )


def _config_options(order: "ImportOrder", topics: Sequence[str], given_configs: Sequence[str]) -> list[str]:
    """The options of `odradek storage add-topics` for the configs: those in the state, then the given ones."""
    known = {topic: order.state.topics[topic].configs for topic in topics if topic in order.state.topics}
    options = [part for topic, configs in known.items() if configs is not None for part in ("--restored", topic)]
    for topic, configs in known.items():
        options += [part for key, value in (configs or {}).items() for part in ("--kept", f"{topic}:{key}={value}")]
    return [*options, *(part for text in given_configs for part in ("--config", text))]


def _import(order: "ImportOrder", before_naming: Callable[[], None]) -> "list[WrittenPartition] | None":
    """The written partitions; None if the import was refused, with a printed reason."""
    console = rich.console.Console(stderr=True, markup=False)
    try:
        with console.status("reading …") as status:
            return job.import_rows(
                order, lambda what, done, total: status.update(f"{what} {done} of {total} parts"), before_naming
            )
    except ImportRefusedError as error:
        _refuse(str(error))
        return None


def _good_configs(given: Sequence[str], order: "ImportOrder") -> bool:
    """Whether the broker's command would accept the configs, before anything is written. It prints the errors."""
    topics = sorted(order.config_topics | order.state.topics.keys())
    options = _config_options(order, topics, given)
    return not options or subcommands.storage(["add-topics", "--check-configs", ".", *topics, *options]) == DONE


def _make_known(order: "ImportOrder", topics: Sequence[str], configs: Sequence[str]) -> int:
    """Adds the topics with the broker's command, which is found by name as in `odradek storage`."""
    ids = [] if order.node_id is None else ["--node-id", str(order.node_id)]
    ids += [] if order.cluster_id is None else ["--cluster-id", order.cluster_id]
    internal = ["--internal"] if INTERNAL_TOPICS & set(topics) else []
    code = subcommands.storage(["add-topics", str(order.directory), *topics, *ids, *internal, *configs])
    if code != DONE:
        names = " ".join(topics)
        return _refuse(
            f"the partitions are written, but are not in the metadata: fix the cause above, then run `odradek "
            f"storage add-topics {order.directory} {names}`"
        )
    return DONE


def _refuse(text: str) -> int:
    print(f"odradek import: {text}", file=sys.stderr)
    return REFUSED


def _refuse_without_extra(error: ImportError) -> int:
    return _refuse(f"{error}; install odradek with the extra 'spark' (README.md, Install)")


def _order(chosen: ImportArguments, options: argparse.ArgumentParser) -> "ImportOrder":
    """The order for the options; exits with 2 for wrong ones."""
    counts = {}
    for text in chosen.partition_count:
        topic, _, number = text.rpartition("=")
        if not topic or not number.isdigit() or not int(number):
            options.error(f"--partition-count {text}: must be like orders=12")
        counts[topic] = int(number)
    if chosen.partitions is not None and chosen.partitions < 1:
        options.error("--partitions must be 1 or more")
    if chosen.partitions is not None and chosen.offsets == "keep":
        options.error("--partitions moves rows to other partitions, so --offsets keep is not possible")
    if not 1024 <= chosen.segment_bytes <= MOST_SEGMENT_BYTES:
        options.error(f"--segment-bytes must be 1024 to {MOST_SEGMENT_BYTES}")
    if not 1024 <= chosen.batch_bytes <= 1 << 28:
        options.error(f"--batch-bytes must be 1024 to {1 << 28}")
    for text in chosen.config:
        if ":" not in text:
            options.error(f"--config {text}: must be like orders:cleanup.policy=compact")
    is_whole = chosen.topic is None and chosen.partitions is None and chosen.offsets != "new"
    return job.ImportOrder(
        inputs=chosen.inputs,
        directory=chosen.into.absolute(),
        topic=chosen.topic,
        partitions=chosen.partitions,
        partition_counts=counts,
        keeps_offsets=chosen.offsets != "new" and chosen.partitions is None,
        is_base64=chosen.encoding == "base64",
        compression=CompressionType[chosen.codec.upper()],
        segment_bytes=chosen.segment_bytes,
        batch_bytes=chosen.batch_bytes,
        now_ms=clock_ms(),
        max_workers=chosen.workers,
        config_topics=frozenset(text.partition(":")[0] for text in chosen.config),
        state=importing_state.read_state(chosen.inputs)
        if is_whole and not chosen.no_state
        else importing_state.ExportedState(),
        node_id=chosen.node_id,
        cluster_id=chosen.cluster_id,
    )
