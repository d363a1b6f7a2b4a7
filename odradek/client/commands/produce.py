"""``odradek produce``: does what ``kafka-console-producer.sh`` does, and sends a record for each line of input."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TextIO

import click

from odradek.protocol.common.command_options import flag, option, repeated, takes
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import KafkaError

from ..errors import ClientError
from .command_config import (
    PRODUCER,
    client_config_option,
    client_properties_option,
    client_settings,
    deprecated_properties,
    old_config_option,
    old_properties_option,
    read_properties,
    under_flags,
    with_deprecated,
)
from .kafka_command import KafkaCommand
from .lines import LineError, LineFormat
from .running import (
    CommandError,
    bootstrap_option,
    json_option,
    key_values,
    main,
    print_no_more,
    run,
)

with lazy_imports:
    import asyncio
    import concurrent.futures
    import threading

    from ..producer import producer as producer_module

if TYPE_CHECKING:
    import asyncio

    from ..producer.producer import Producer
    from ..types import Header, RecordMetadata

READ_BYTES = 65_536
LINE_READERS = ("org.apache.kafka.tools.LineMessageReader", "LineMessageReader")
SHOWN_ERRORS = 10


@dataclass(slots=True)
class SendOutcome:
    """The outcome of the records: the number of acknowledged ones, and the error of each failed one."""

    acknowledged: int = 0
    errors: list[str] = field(default_factory=list)


PRODUCER_FLAGS = (
    *("acks", "compression_type", "batch_size", "linger_ms", "max_block_ms", "buffer_memory", "metadata_max_age_ms"),
    *("request_timeout_ms", "retry_backoff_ms", "retries", "send_buffer_bytes"),
)
"""The options that are arguments of the producer, of the same names."""
REFUSED = {
    "reader-property": ("property",),
    "command-property": ("producer-property",),
    "command-config": ("producer.config",),
}


@dataclass(frozen=True, kw_only=True)
class ProduceOptions:
    """The arguments of the command."""

    bootstrap_server: str = bootstrap_option()
    command_config: str | None = client_config_option("producer")
    command_properties: tuple[str, ...] = client_properties_option("producer")
    producer_config: None = old_config_option("producer")
    producer_property: None = old_properties_option("producer")
    topic: str = option("--topic", required=True, help="The topic.")
    partition: int | None = option("--partition", type=click.IntRange(min=0), help="Send everything to this partition.")
    properties: tuple[str, ...] = repeated(
        "--reader-property",
        metavar="KEY=VALUE",
        help="How to read lines: parse.key, key.separator, parse.headers, headers.delimiter, headers.separator, "
        "headers.key.separator, null.marker (null.marker= makes empty values tombstones), ignore.error.",
    )
    old_properties: None = deprecated_properties("--reader-property")
    reader_config: TextIO | None = option(
        "--reader-config", type=click.File(), metavar="FILE", help="A properties file with such properties."
    )
    line_reader: str | None = option(
        "--line-reader",
        metavar="CLASS",
        type=click.Choice(LINE_READERS),
        help="Kafka's class that reads the lines; only LineMessageReader.",
    )
    file_: BinaryIO | None = option("--file", type=click.File("rb"), help="Read this file instead of standard input.")
    key: str | None = option("--key", help="The key of every record; not with parse.key.")
    headers: tuple[str, ...] = repeated("--header", metavar="KEY=VALUE", help="A header of every record.")
    tombstone: bool = flag("--tombstone", help="Send one record with --key and a null value; no input is read.")
    compression_type: str = option(
        "--compression-codec",
        "--compression-type",
        is_flag=False,
        flag_value="gzip",
        type=click.Choice(["none", "gzip", "snappy", "lz4", "zstd"]),
        default="none",
        show_default=True,
        help="The compression of batches; gzip if the flag has no value.",
    )
    acks: str = option(
        "--acks",
        "--request-required-acks",
        type=click.Choice(["all", "-1", "1", "0"]),
        default="all",
        show_default=True,
        help="The acknowledgements that the producer requires; -1 is all.",
    )
    batch_size: int = option(
        "--batch-size",
        "--max-partition-memory-bytes",
        type=click.IntRange(min=0),
        default=16_384,
        show_default=True,
        metavar="BYTES",
        help="The maximum size of a batch.",
    )
    linger_ms: int = option(
        "--linger-ms",
        "--timeout",
        type=click.IntRange(min=0),
        default=5,
        show_default=True,
        metavar="MS",
        help="How long a batch waits for more records.",
    )
    sync: bool = flag("--sync", help="Wait for each record's acknowledgement before the next is sent.")
    max_block_ms: int = option(
        "--max-block-ms",
        type=click.IntRange(min=0),
        default=10_000,
        show_default=True,
        metavar="MS",
        help="How long a send waits for metadata or memory.",
    )
    buffer_memory: int | None = option(
        "--max-memory-bytes",
        type=click.IntRange(min=1),
        metavar="BYTES",
        help="The maximum memory for records that are not sent yet.",
    )
    metadata_max_age_ms: int | None = option(
        "--metadata-expiry-ms", type=click.IntRange(min=0), metavar="MS", help="How often metadata is fetched again."
    )
    request_timeout_ms: int | None = option(
        "--request-timeout-ms",
        type=click.IntRange(min=1),
        metavar="MS",
        help="How long a request waits for its response.",
    )
    retry_backoff_ms: int | None = option(
        "--retry-backoff-ms", type=click.IntRange(min=0), metavar="MS", help="The pause before a request is sent again."
    )
    retries: int | None = option(
        "--message-send-max-retries",
        type=click.IntRange(min=0),
        help="How often a failed batch is sent again. Default: until delivery.timeout.ms.",
    )
    send_buffer_bytes: int | None = option(
        "--socket-buffer-size",
        type=click.IntRange(min=-1),
        metavar="BYTES",
        help="The size of a socket's send buffer; -1, the default, leaves it to the system.",
    )
    as_json: bool = json_option()


@click.command(
    cls=KafkaCommand,
    refused=REFUSED,
    help="Send a record for each line of standard input or a file.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(ProduceOptions)
def command(options: ProduceOptions) -> int:
    """Checks the arguments and sends."""
    line_format = the_line_format(options)
    if options.tombstone and options.key is None:
        raise click.UsageError("--tombstone needs --key: a tombstone deletes a key")
    headers: list[Header] = [(name, value.encode()) for name, value in key_values(options.headers, "--header").items()]
    given = client_settings(PRODUCER, options.command_config, options.command_properties)
    flags = {name: getattr(options, name) for name in PRODUCER_FLAGS}
    settings = under_flags({"client_id": "console-producer", **given}, **flags)
    return run(lambda: send_and_report(settings, options, LineParts(line_format, headers)))


def the_line_format(options: ProduceOptions) -> LineFormat:
    """How lines are read: properties of the command line override those of the file. Raises UsageError."""
    try:
        from_file = {} if options.reader_config is None else read_properties(options.reader_config.read())
        given = key_values(with_deprecated(options.properties), "--reader-property")
        return LineFormat.of({**from_file, **given})
    except ValueError as error:
        raise click.UsageError(str(error)) from None


class LineParts(NamedTuple):
    """How a line becomes a record: its format, and the headers of every record."""

    line_format: LineFormat
    headers: list[Header]


async def send_and_report(settings: Mapping[str, Any], options: ProduceOptions, parts: LineParts) -> int:
    """Sends the input and prints the outcome. ``settings``: the producer's other arguments. Returns the exit code."""
    async with producer_module.Producer(options.bootstrap_server, **settings) as producer:
        return report(await send_lines(producer, options, parts))


async def send_lines(producer: Producer, options: ProduceOptions, parts: LineParts) -> SendOutcome:
    """Sends a record for each line, or one tombstone. Returns the outcome. Raises CommandError for a malformed line."""
    tally = SendOutcome()
    source = sys.stdin.buffer if options.file_ is None else options.file_
    prompt = options.file_ is None and not options.tombstone and sys.stdin.isatty()
    number = 0
    async for line in one_line(b"") if options.tombstone else lines_of(source, prompt=prompt):
        number += 1
        try:
            parsed_key, value, parsed_headers = parts.line_format.parse(line, number)
        except LineError as error:
            raise CommandError(str(error)) from None
        future = await producer.send(
            options.topic,
            None if options.tombstone else value,
            options.key.encode() if options.key is not None else parsed_key,
            partition=options.partition,
            headers=parts.headers + parsed_headers,
        )
        future.add_done_callback(lambda done: note(done, tally, options.as_json))
        if options.sync:
            await asyncio.wait({future})
    await producer.flush()
    return tally


def note(done: asyncio.Future[RecordMetadata], tally: SendOutcome, as_json: bool) -> None:
    """Counts an acknowledgement or error; with JSON prints the record's position."""
    if done.cancelled():
        return
    failure = done.exception()
    if isinstance(failure, KafkaError | ClientError):
        tally.errors.append(str(failure.args[-1]))
        return
    metadata = done.result()
    tally.acknowledged += 1
    if as_json:
        try:
            click.echo(json.dumps(document_of(metadata), ensure_ascii=False))
        except BrokenPipeError:  # the event loop calls this and would print a traceback for each record
            print_no_more()  # does not stop: all records are sent even if the output has no reader


def document_of(metadata: RecordMetadata) -> dict[str, Any]:
    """The position of a record, for JSON."""
    return {
        "topic": metadata.topic,
        "partition": metadata.partition,
        "offset": metadata.offset if metadata.offset >= 0 else None,
        "timestamp": metadata.timestamp,
    }


def report(tally: SendOutcome) -> int:
    """Prints the records that failed. Returns the exit code."""
    for error in tally.errors[:SHOWN_ERRORS]:
        click.echo(f"odradek produce: {error}", err=True)
    if len(tally.errors) > SHOWN_ERRORS:
        click.echo(f"odradek produce: and {len(tally.errors) - SHOWN_ERRORS} more", err=True)
    if tally.errors:
        click.echo(f"{len(tally.errors)} records failed, {tally.acknowledged} were acknowledged", err=True)
    return 1 if tally.errors else 0


async def one_line(line: bytes) -> AsyncIterator[bytes]:
    """Yields a single line."""
    yield line


async def lines_of(source: BinaryIO, *, prompt: bool) -> AsyncIterator[bytes]:
    """Yields the lines of a file or pipe as they arrive, without line ends.

    A daemon thread reads, because a read from a terminal or a pipe cannot be cancelled: after Ctrl-C it keeps waiting.
    It has its own file descriptor. Otherwise, after the source was closed, it could read from another file that got
    the same descriptor number.
    """
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes | OSError] = asyncio.Queue(maxsize=4)
    descriptor = os.dup(source.fileno())

    def read() -> None:
        while True:
            chunk: bytes | OSError
            try:
                chunk = os.read(descriptor, READ_BYTES)
            except OSError as error:
                chunk = error
            putting = chunks.put(chunk)
            try:
                asyncio.run_coroutine_threadsafe(putting, loop).result()
            except (RuntimeError, concurrent.futures.CancelledError):
                putting.close()  # the event loop has ended
                break
            if not chunk or isinstance(chunk, OSError):
                break
        os.close(descriptor)

    threading.Thread(target=read, daemon=True, name="lines").start()
    rest = b""
    while True:
        if prompt:
            click.echo(">", nl=False)
        chunk = await chunks.get()
        if isinstance(chunk, OSError):
            raise CommandError(f"cannot read the input: {chunk.strerror}")
        if not chunk:
            break
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r")
    if rest:
        yield rest


def produce(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek produce``, returns the exit code."""
    return main(command, "produce", arguments)
