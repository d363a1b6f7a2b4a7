"""``odradek dump-log``: does what Kafka's ``kafka-dump-log.sh`` does, with its flags and output.

Only click is imported at first; the record codec, the message classes and construct are imported for files that need
them.
"""

import errno
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from odradek import __version__
from odradek.protocol.common.command_options import arguments, flag, option, repeated, takes
from odradek.protocol.common.lazy_imports import lazy_imports

with lazy_imports:
    from . import decoders, index_dump, json_documents, log_dump
    from . import printer as dump_printer

if TYPE_CHECKING:
    from .events import DumpFinding, Event
    from .json_documents import JsonPrinter
    from .printer import TextPrinter

EXIT_CORRUPT = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

DECODERS = {
    "offsets": "group_record",
    "transaction_log": "transaction_record",
    "cluster_metadata": "metadata_record",
    "remote_log_metadata": "remote_log_record",
    "share_group_state": "share_record",
}
"""Kafka's decoder flags -> the function of ``dump.decoders``. If several are given, the first in this order counts."""


def dump_log(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek dump-log``, returns the exit code (1 if a file is corrupt)."""
    try:
        result = command.main(args=arguments, prog_name="odradek dump-log", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        error.show()
        return EXIT_USAGE
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has exited (`| head`), so an error could not be shown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CORRUPT
    return result if isinstance(result, int) else 0


CLASS_PREFIX = "org.apache.kafka.tools.api."
CLASSES = {"StringDecoder": "text", "IntegerDecoder": "integer", "LongDecoder": "long"}
"""Kafka's own decoder classes -> the functions of ``dump.decoders``. Its DefaultDecoder prints no content at all."""


def _class(_: click.Context, parameter: click.Parameter, value: str | None) -> str:
    """Kafka's own decoders by name, with or without their package. Refuses other Java classes with a hint."""
    name = (value or "StringDecoder").removeprefix(CLASS_PREFIX)
    if name not in CLASSES:
        raise click.UsageError(
            f"{parameter.opts[0]} {value} is not supported: Java classes cannot run here. Use one of"
            f" {', '.join(CLASSES)}, or decode the output of --json yourself: bytes that are not text are base64."
        )
    return CLASSES[name]


def _print_version(context: click.Context, _: click.Parameter, value: bool) -> None:
    """Prints the version and ends the command, if the flag was given."""
    if value and not context.resilient_parsing:
        click.echo(__version__)
        context.exit()


@dataclass(frozen=True, kw_only=True)
class DumpOptions:
    """The arguments of ``odradek dump-log``."""

    files: tuple[str, ...] = repeated("--files", metavar="FILE,...", help="The files; may be repeated.")
    more_files: tuple[str, ...] = arguments(metavar="[FILE]...")
    deep_iteration: bool = flag("--deep-iteration", help="Print records, not only batches.")
    print_data_log: bool = flag("--print-data-log", help="Print keys and values too; implies --deep-iteration.")
    skip_record_metadata: bool = flag("--skip-record-metadata", help="Print only keys and values of records.")
    index_sanity_check: bool = flag(
        "--index-sanity-check", help="Only run the check that a broker runs before it uses an index."
    )
    verify_index_only: bool = flag("--verify-index-only", help="Compare indexes with their logs without printing them.")
    max_message_size: int = option(
        "--max-message-size",
        type=click.IntRange(min=1),
        default=5 * 1024 * 1024,
        show_default=True,
        metavar="BYTES",
        help="Do not compare indexes with batches larger than this.",
    )
    max_bytes: int = option(
        "--max-bytes",
        type=click.IntRange(min=0),
        default=0x7FFFFFFF,
        show_default=True,
        metavar="BYTES",
        help="Read at most this many bytes of each log.",
    )
    offsets: bool = flag("--offsets-decoder", help="Decode records of __consumer_offsets.")
    transaction_log: bool = flag("--transaction-log-decoder", help="Decode records of __transaction_state.")
    cluster_metadata: bool = flag("--cluster-metadata-decoder", help="Decode records of __cluster_metadata.")
    remote_log_metadata: bool = flag("--remote-log-metadata-decoder", help="Decode records of __remote_log_metadata.")
    share_group_state: bool = flag("--share-group-state-decoder", help="Decode records of __share_group_state.")
    key_class: str = option("--key-decoder-class", callback=_class, help=f"Decoder of keys: {', '.join(CLASSES)}.")
    value_class: str = option(
        "--value-decoder-class", callback=_class, help=f"Decoder of values: {', '.join(CLASSES)}."
    )
    shows_bytes: bool = flag("--bytes", help="Also print a table of the fields with their bytes.")
    version: None = option(
        "--version",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_print_version,
        help="Show the version and exit.",
    )
    as_json: bool = flag("--json", help="Print one JSON document per line.")


@click.command(
    help="Print the batches and records of log files, and the entries of indexes, producer snapshots and KRaft"
    " snapshots; verify indexes against their logs. The exit code is 1 if a file is corrupt.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(DumpOptions)
def command(options: DumpOptions) -> int:
    """Dumps each file in turn. Returns the exit code."""
    paths = [Path(name) for text in options.files for name in text.split(",") if name]
    paths += [Path(name) for name in options.more_files]
    if not paths:
        raise click.UsageError("Missing required argument --files")
    chosen = next((name for name in DECODERS if getattr(options, name)), None)
    printer = _printer(options.as_json, options.skip_record_metadata, chosen)
    corrupt: list[DumpFinding] = []
    failed = False
    for path in paths:
        try:
            for event in events_of(path, chosen, options):
                found = printer.print(event, path)
                if found is not None and found.is_corrupt:
                    corrupt.append(found)
        except OSError as error:
            failed = True
            printer.flush()
            click.echo(f"odradek dump-log: {path}: {error.strerror or error}", err=True)
    printer.close()
    return EXIT_CORRUPT if corrupt or failed else 0


def _printer(as_json: bool, skip_record_metadata: bool, decoder: str | None) -> "TextPrinter | JsonPrinter":
    """The printer of the events."""
    if as_json:
        return json_documents.JsonPrinter(skip_record_metadata=skip_record_metadata)
    return dump_printer.TextPrinter(skip_record_metadata=skip_record_metadata, decoder=decoder)


def events_of(path: Path, decoder: str | None, options: DumpOptions) -> Iterator["Event"]:
    """Reads a file by its suffix: ``.log``, ``.checkpoint``, an index, or ``.snapshot``. Warns of others.

    ``decoder``: a key of DECODERS for the records of an internal topic, or None. ``options``: those of the command.
    Raises OSError.
    """
    suffix = path.suffix
    if suffix in (".log", ".checkpoint"):
        prints_data = options.print_data_log or decoder is not None
        plain = decoders.plain(options.key_class, options.value_class)
        decode = getattr(decoders, DECODERS[decoder]) if decoder else plain if prints_data else None
        deep = options.deep_iteration or prints_data
        return log_dump.dump_log(path, log_dump.LogOptions(deep, decode, options.max_bytes, options.shows_bytes))
    index_options = index_dump.IndexOptions(
        options.index_sanity_check, options.verify_index_only, options.max_message_size, options.shows_bytes
    )
    match suffix:
        case ".index":
            return index_dump.dump_offset_index(path, index_options)
        case ".timeindex":
            return index_dump.dump_time_index(path, index_options)
        case ".txnindex":
            return index_dump.dump_transaction_index(path, index_options)
        case ".snapshot":
            return index_dump.dump_producer_snapshot(path, index_options)
    return _unknown(path)


def _unknown(path: Path) -> Iterator["Event"]:
    """A file of an unknown type. Raises OSError for a directory, and if nothing has this name: both are mistyped."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, f"Is a directory; name its files, such as {path}/*.log")
    path.stat()
    click.echo(f"Ignoring unknown file {path}", err=True)
    return iter(())
