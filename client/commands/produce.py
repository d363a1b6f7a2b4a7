"""``odradek produce``: what ``kafka-console-producer.sh`` does: a record for each line of input."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from ...protocol.errors import KafkaError
from ..errors import ClientError
from .command_config import PRODUCER, client_settings, console_config_options, under_flags
from .lines import LineError, LineFormat
from .running import (
    CommandError,
    bootstrap_option,
    json_option,
    key_values,
    main,
    output_option,
    print_no_more,
    run,
)

if TYPE_CHECKING:
    import asyncio

    from ..types import RecordMetadata

READ_BYTES = 65_536
SHOWN_ERRORS = 10


@dataclass(slots=True)
class Tally:
    """What became of the records."""

    acknowledged: int = 0
    errors: list[str] = field(default_factory=list)


@click.command(
    help="Send a record for each line of standard input or a file.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@bootstrap_option
@console_config_options("producer")
@click.option("--topic", required=True, help="The topic.")
@click.option("--partition", type=click.IntRange(min=0), help="Send everything to this partition.")
@click.option(
    "--property",
    "--reader-property",
    "properties",
    multiple=True,
    metavar="KEY=VALUE",
    help="How to read lines: parse.key, key.separator, parse.headers, headers.delimiter, headers.separator, "
    "headers.key.separator, null.marker (null.marker= makes empty values tombstones), ignore.error.",
)
@click.option("--file", "file_", type=click.File("rb"), help="Read this file instead of standard input.")
@click.option("--key", help="The key of every record (instead of parse.key).")
@click.option("--header", "headers", multiple=True, metavar="KEY=VALUE", help="A header of every record.")
@click.option("--tombstone", is_flag=True, help="Send one record with --key and a null value; no input is read.")
@click.option(
    "--compression-codec",
    "--compression-type",
    "compression_type",
    is_flag=False,
    flag_value="gzip",
    type=click.Choice(["none", "gzip", "snappy", "lz4", "zstd"]),
    default="none",
    show_default=True,
    help="How batches are compressed; gzip where the flag stands alone.",
)
@click.option(
    "--acks",
    "--request-required-acks",
    "acks",
    type=click.Choice(["all", "-1", "1", "0"]),
    default="all",
    show_default=True,
    help="When the broker answers; -1 is all.",
)
@click.option("--batch-size", type=click.IntRange(min=0), default=16_384, show_default=True, metavar="BYTES")
@click.option("--linger-ms", "--timeout", "linger_ms", type=click.IntRange(min=0), default=5, show_default=True)
@click.option("--sync", is_flag=True, help="Wait for each record's acknowledgement before the next is sent.")
@click.option("--max-block-ms", type=click.IntRange(min=0), default=10_000, show_default=True, metavar="MS")
@json_option
@output_option
def command(
    bootstrap_server: str,
    command_config: str | None,
    command_properties: tuple[str, ...],
    topic: str,
    partition: int | None,
    properties: tuple[str, ...],
    file_: BinaryIO | None,
    key: str | None,
    headers: tuple[str, ...],
    tombstone: bool,
    compression_type: str,
    acks: str,
    batch_size: int,
    linger_ms: int,
    sync: bool,
    max_block_ms: int,
    as_json: bool,
    output: str,
) -> int:
    """Checks the arguments and sends."""
    try:
        line_format = LineFormat.of(key_values(properties, "--property"))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if tombstone and key is None:
        raise click.UsageError("--tombstone needs --key: a tombstone deletes a key")
    fixed_headers = [(name, value.encode()) for name, value in key_values(headers, "--header").items()]
    json_wanted = as_json or output == "json"
    settings = under_flags(
        {"client_id": "console-producer", **client_settings(PRODUCER, command_config, command_properties)},
        acks=acks,
        compression_type=compression_type,
        batch_size=batch_size,
        linger_ms=linger_ms,
        max_block_ms=max_block_ms,
    )

    async def work() -> int:
        import asyncio

        from ..producer import Producer

        tally = Tally()
        producer = Producer(bootstrap_server, **settings)
        async with producer:
            source = sys.stdin.buffer if file_ is None else file_
            prompt = file_ is None and not tombstone and sys.stdin.isatty()
            number = 0
            async for line in one_line(b"") if tombstone else lines_of(source, prompt=prompt):
                number += 1
                try:
                    parsed_key, value, parsed_headers = line_format.parse(line, number)
                except LineError as error:
                    raise CommandError(str(error)) from None
                future = await producer.send(
                    topic,
                    None if tombstone else value,
                    key.encode() if key is not None else parsed_key,
                    partition=partition,
                    headers=fixed_headers + parsed_headers,
                )
                future.add_done_callback(lambda done: note(done, tally, json_wanted))
                if sync:
                    await asyncio.wait({future})
            await producer.flush()
        return report(tally)

    return run(work)


def note(done: asyncio.Future[RecordMetadata], tally: Tally, as_json: bool) -> None:
    """Counts an answer; with JSON prints where the record is."""
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
        except BrokenPipeError:  # it was called by the loop, which would print a traceback for each record
            print_no_more()  # and goes on: the records are to be sent, whoever reads of them


def document_of(metadata: RecordMetadata) -> dict[str, Any]:
    """Where a record is, as JSON has it."""
    return {
        "topic": metadata.topic,
        "partition": metadata.partition,
        "offset": metadata.offset if metadata.offset >= 0 else None,
        "timestamp": metadata.timestamp,
    }


def report(tally: Tally) -> int:
    """Says which records failed; the exit code."""
    for error in tally.errors[:SHOWN_ERRORS]:
        click.echo(f"odradek produce: {error}", err=True)
    if len(tally.errors) > SHOWN_ERRORS:
        click.echo(f"odradek produce: and {len(tally.errors) - SHOWN_ERRORS} more", err=True)
    if tally.errors:
        click.echo(f"{len(tally.errors)} records failed, {tally.acknowledged} were acknowledged", err=True)
    return 1 if tally.errors else 0


async def one_line(line: bytes) -> AsyncIterator[bytes]:
    """A single line."""
    yield line


async def lines_of(source: BinaryIO, *, prompt: bool) -> AsyncIterator[bytes]:
    """The lines of a file or pipe, without their ends, as they come.

    A daemon thread reads, because a read from a terminal or a pipe cannot be cancelled: at Ctrl-C it is left behind. It
    has a descriptor of its own, so that it never reads from whatever takes the number of a closed one.
    """
    import asyncio
    import threading
    from concurrent.futures import CancelledError

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
            except (RuntimeError, CancelledError):
                putting.close()  # the loop ended meanwhile
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
    """Entry point: the arguments after ``odradek produce``, the exit code back."""
    return main(command, "produce", arguments)
