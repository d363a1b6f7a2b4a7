"""``odradek delete-records``: what ``kafka-delete-records.sh`` does, with its flags, its file and its output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

import click

from odradek.protocol.common.command_options import included, option, takes
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import KafkaError

from ..types import TopicPartition
from .command_config import ConnectionOptions
from .java_errors import java_error
from .kafka_command import KafkaCommand
from .running import CommandError, main, run, timeout_option
from .topic_partitions import field, parse_json, partition_of, repeated

with lazy_imports:
    import asyncio

    from ..admin import records

if TYPE_CHECKING:
    from ..admin.records import RecordAdmin


@dataclass(frozen=True, kw_only=True)
class DeleteRecordsOptions:
    """The arguments of the command."""

    connection: ConnectionOptions = included(ConnectionOptions)
    offset_json_file: TextIO = option(
        "--offset-json-file",
        type=click.File(encoding="utf-8"),
        required=True,
        metavar="FILE",
        help='The offsets: {"partitions": [{"topic": "foo", "partition": 1, "offset": 1}], "version": 1}; '
        "-1 is the high watermark.",
    )
    timeout_ms: int = timeout_option()


@click.command(
    cls=KafkaCommand,
    help="Delete the records of partitions before an offset.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(DeleteRecordsOptions)
def command(options: DeleteRecordsOptions) -> int:
    """Reads the file and deletes."""
    offsets = parse_offsets(options.offset_json_file.read())

    async def work() -> int | None:
        async with options.connection.admin(records.RecordAdmin, options.timeout_ms) as admin:
            return await delete(admin, offsets)

    return run(work)


def parse_offsets(text: str) -> dict[TopicPartition, int]:
    """The offset of each partition in the file. Raises CommandError."""
    document = parse_json(text, "The input string is not a valid JSON")
    version = field(document, "version", int) if "version" in document else 1
    if version != 1:
        raise CommandError(f"Not supported version field value {version}")
    if "partitions" not in document:
        raise CommandError("Missing partitions field")
    entries = [(partition_of(entry), field(entry, "offset", int)) for entry in field(document, "partitions", list)]
    twice = repeated([partition for partition, _ in entries])
    if twice:
        raise CommandError(f"Offset json file contains duplicate topic partitions: {','.join(map(str, twice))}")
    return dict(entries)


async def delete(admin: RecordAdmin, offsets: dict[TopicPartition, int]) -> int:
    """Sends one request for each partition, so that a partition without a leader does not affect the others."""
    click.echo("Executing records delete operation")
    results = await asyncio.gather(*(_delete_in(admin, partition, offset) for partition, offset in offsets.items()))
    click.echo("Records delete operation completed:")
    for partition, result in zip(offsets, results, strict=True):
        click.echo(f"partition: {partition}\t{result}")
    return 0


async def _delete_in(admin: RecordAdmin, partition: TopicPartition, offset: int) -> str:
    try:
        return f"low_watermark: {(await admin.delete_records({partition: offset}))[partition]}"
    except KafkaError as error:
        return f"error: {java_error(error.error_code, None)}"


def delete_records(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek delete-records``, returns the exit code."""
    return main(command, "delete-records", arguments)
