"""``odradek consume``: does what ``kafka-console-consumer.sh`` does, and can stop at an offset, a time or the end."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click

from ..types import ConsumerRecord, TopicPartition
from .command_config import (
    CONSUMER,
    client_settings,
    console_config_options,
    deprecated_properties,
    under_flags,
    with_deprecated,
)
from .deserializers import DeserializationError
from .kafka_command import KafkaCommand
from .message_formatters import Formatter, formatter_of
from .properties_file import read_properties
from .record_format import RecordFormat
from .running import (
    CommandError,
    bootstrap_option,
    json_option,
    key_values,
    main,
    run,
)
from .topic_partitions import INTERNAL_TOPICS

if TYPE_CHECKING:
    from ..consumer.consumer import Consumer

POLL_MS = 1_000


class ConsumeOptions(NamedTuple):
    """The command's arguments."""

    topic: str | None
    include: str | None
    partition: int | None
    offset: str
    max_messages: int | None
    timeout_ms: int | None
    until_offset: int | None
    until_time_ms: int | None
    until_end: bool
    formatter: Formatter
    skip_message_on_error: bool

    @property
    def has_end(self) -> bool:
        """Whether each partition has an offset to stop at."""
        return self.until_offset is not None or self.until_time_ms is not None or self.until_end


def parse_moment(text: str) -> int:
    """Parses ms since 1970, or an ISO 8601 time (local if it has no offset), to ms since 1970. Raises UsageError."""
    if re.fullmatch(r"\d+", text):
        return int(text)
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        raise click.UsageError(
            f"{text} must be milliseconds since 1970, or a time like 2026-01-31T12:00:00+00:00"
        ) from None


REFUSED = {
    "formatter-property": ("property",),
    "command-property": ("consumer-property",),
    "command-config": ("consumer.config",),
}


@click.command(
    cls=KafkaCommand,
    refused=REFUSED,
    help="Print the records of a topic.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@bootstrap_option
@console_config_options("consumer")
@click.option("--topic", help="The topic.")
@click.option("--include", help="Read all topics that match a regular expression instead.")
@click.option("--partition", type=click.IntRange(min=0), help="Only this partition.")
@click.option("--offset", help="Where to begin: earliest, latest (default), or a number with --partition.")
@click.option("--from-beginning", is_flag=True, help="Begin at the earliest record if no offset is committed.")
@click.option("--group", help="Read as a member of this group and commit. Default: no group.")
@click.option("--max-messages", type=click.IntRange(min=-1), help="Stop after this many records; -1: do not stop.")
@click.option("--timeout-ms", type=int, help="Stop if no record arrives for this many milliseconds; -1: do not stop.")
@click.option("--until-offset", type=click.IntRange(min=0), help="Stop before this offset, in each partition.")
@click.option("--until-time", help="Stop before the first record at this time (ms, or ISO 8601), in each partition.")
@click.option("--until-end", is_flag=True, help="Stop at the current end of each partition.")
@click.option(
    "--formatter-property",
    "properties",
    multiple=True,
    metavar="KEY=VALUE",
    help="How to print: print.timestamp, print.key, print.offset, print.partition, print.headers, print.value, "
    "print.epoch, key.separator, line.separator, headers.separator, null.literal, key.deserializer, "
    "value.deserializer, headers.deserializer.",
)
@deprecated_properties("--formatter-property")
@click.option("--formatter-config", type=click.File(), metavar="FILE", help="A properties file with such properties.")
@click.option("--formatter", metavar="CLASS", help="How to print, by the name of Kafka's class (docs/commands.md).")
@click.option("--key-deserializer", metavar="CLASS", help="The deserializer of keys, by the name of Kafka's class.")
@click.option("--value-deserializer", metavar="CLASS", help="The deserializer of values, by the name of Kafka's class.")
@click.option("--skip-message-on-error", is_flag=True, help="Skip records that cannot be printed.")
@click.option("--enable-systest-events", is_flag=True, help="Print shutdown_complete when the consumer has closed.")
@click.option(
    "--isolation-level",
    type=click.Choice(["read_uncommitted", "read_committed"]),
    default="read_uncommitted",
    show_default=True,
)
@json_option
def command(
    bootstrap_server: str,
    command_config: str | None,
    command_properties: tuple[str, ...],
    topic: str | None,
    include: str | None,
    partition: int | None,
    offset: str | None,
    from_beginning: bool,
    group: str | None,
    max_messages: int | None,
    timeout_ms: int | None,
    until_offset: int | None,
    until_time: str | None,
    until_end: bool,
    properties: tuple[str, ...],
    formatter_config: TextIO | None,
    formatter: str | None,
    key_deserializer: str | None,
    value_deserializer: str | None,
    skip_message_on_error: bool,
    enable_systest_events: bool,
    isolation_level: str,
    as_json: bool,
) -> int:
    """Checks the arguments and prints."""
    offset = None if offset is None else offset.lower()
    check_place(topic, include, partition, offset, from_beginning)
    shown = shown_properties(formatter_config, with_deprecated(properties), key_deserializer, value_deserializer)
    print_as = the_formatter(formatter, shown, as_json=as_json)
    given = client_settings(CONSUMER, command_config, command_properties)
    reset = starting_point(given, offset, from_beginning)
    settings = consumer_settings(given, group, reset, isolation_level)
    has_group = settings["group_id"] is not None
    if has_group and (partition is not None or offset is not None):
        raise click.UsageError("Options group and partition (or offset) cannot be specified together.")
    options = ConsumeOptions(
        topic,
        include,
        partition,
        offset or settings["auto_offset_reset"],
        None if max_messages == -1 else max_messages,
        None if timeout_ms is not None and timeout_ms < 0 else timeout_ms,
        until_offset,
        parse_moment(until_time) if until_time is not None else None,
        until_end,
        print_as,
        skip_message_on_error,
    )
    if has_group and options.has_end:
        raise click.UsageError("--until-... and --group cannot be used together, because a group's partitions change")
    try:
        return run(lambda: consume_until_done(bootstrap_server, settings, options))
    finally:
        if enable_systest_events:
            click.echo("shutdown_complete")


def check_place(
    topic: str | None, include: str | None, partition: int | None, offset: str | None, from_beginning: bool
) -> None:
    """Raises UsageError if topic, partition and starting offset are missing or contradictory."""
    if (topic is None) == (include is None):
        raise click.UsageError("Exactly one of --topic and --include is required")
    if partition is not None and topic is None:
        raise click.UsageError("--partition needs --topic")
    if offset is not None and offset not in ("earliest", "latest"):
        if not offset.isdigit():
            raise click.UsageError(
                f"The provided offset value '{offset}' is incorrect. Valid: earliest, latest, a number"
            )
        if partition is None:
            raise click.UsageError("The partition is required when offset is specified.")
    if from_beginning and offset is not None:
        raise click.UsageError("--from-beginning and --offset cannot be used together")


def starting_point(given: Mapping[str, Any], offset: str | None, from_beginning: bool) -> str:
    """The ``auto.offset.reset``: ``earliest`` or ``latest``. Raises UsageError if flag and setting contradict."""
    if from_beginning and given.get("auto_offset_reset", "earliest") != "earliest":
        raise click.UsageError(f"Can't specify --from-beginning and auto.offset.reset={given['auto_offset_reset']}")
    return "earliest" if from_beginning or offset == "earliest" else "latest"


def shown_properties(
    formatter_config: TextIO | None,
    properties: tuple[str, ...],
    key_deserializer: str | None,
    value_deserializer: str | None,
) -> dict[str, str]:
    """The formatter's properties: those of the command line override those of the file. Raises UsageError.

    Kafka's formatters ignore unknown properties. Here they are named on standard error.
    """
    deserializers = {"key.deserializer": key_deserializer, "value.deserializer": value_deserializer}
    shown = {
        **(read_properties(formatter_config.read()) if formatter_config is not None else {}),
        **key_values(properties, "--formatter-property"),
        **{key: name for key, name in deserializers.items() if name is not None},
    }
    unknown = sorted(shown.keys() - RecordFormat.properties().keys())
    if unknown:
        click.echo(f"--formatter-property: these properties have no effect: {', '.join(unknown)}", err=True)
    return {key: value for key, value in shown.items() if key not in unknown}


def the_formatter(class_name: str | None, properties: Mapping[str, str], *, as_json: bool) -> Formatter:
    """The function that prints records: ``--formatter`` with the properties, or JSON. Raises UsageError."""
    try:
        record_format = RecordFormat.of(properties)
        if class_name is None:
            return record_format.json_line if as_json else record_format.line
        if as_json:
            raise click.UsageError("--formatter and --json cannot be used together")
        return formatter_of(class_name, record_format)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def consumer_settings(
    given: Mapping[str, Any], group: str | None, offset_reset: str, isolation_level: str
) -> dict[str, Any]:
    """The consumer's arguments from file and flags; ``group_id`` may be None. Raises UsageError if groups differ."""
    group_id = given.get("group_id", group)
    if group is not None and group_id != group:
        raise click.UsageError(
            "The group ids provided in different places (--group, --command-property, --command-config) do not match. "
            f"Detected group ids: '{group}', '{group_id}'"
        )
    defaults = {"client_id": "console-consumer", "auto_offset_reset": offset_reset}
    settings = under_flags({**defaults, **given}, isolation_level=isolation_level)
    return {**settings, "group_id": group_id}


async def consume_until_done(bootstrap_server: str, settings: Mapping[str, Any], options: ConsumeOptions) -> int:
    """Reads and prints records, then prints their number. ``settings``: the consumer's other arguments."""
    import asyncio

    from ..consumer.consumer import Consumer

    consumer = Consumer(bootstrap_servers=bootstrap_server, **settings)
    printed = 0
    try:
        await consumer.start([] if options.topic is None else [options.topic])
        try:
            reader = PartitionReader(consumer, options)
            if consumer.has_group:
                consumer.subscribe(await reader.topics())
            else:
                await reader.assign()
            loop = asyncio.get_running_loop()
            last_record = loop.time()
            while not reader.is_done and (options.max_messages is None or printed < options.max_messages):
                wait_ms = POLL_MS
                if options.timeout_ms is not None:
                    left_ms = options.timeout_ms - (loop.time() - last_record) * 1000
                    if left_ms <= 0:
                        break
                    wait_ms = min(wait_ms, int(left_ms) + 1)
                limit = None if options.max_messages is None else options.max_messages - printed
                records = await reader.poll(wait_ms, limit)
                for record in records:
                    sys.stdout.buffer.write(printed_form(record, options))
                if records:
                    sys.stdout.buffer.flush()
                    printed += len(records)
                    last_record = loop.time()
        finally:
            await consumer.stop()
    finally:
        click.echo(f"Processed a total of {printed} messages", err=True)
    return 0


def printed_form(record: ConsumerRecord, options: ConsumeOptions) -> bytes:
    """The output for a record. If it cannot be decoded, raises CommandError, or skips it (skip_message_on_error)."""
    try:
        return options.formatter(record)
    except DeserializationError as error:
        where = f"{record.topic}-{record.partition} at offset {record.offset}"
        if not options.skip_message_on_error:
            raise CommandError(f"{where}: {error}; --skip-message-on-error skips such records") from None
        click.echo(f"Error processing message, skipping this message: {where}: {error}", err=True)
        return b""


class PartitionReader:
    """Reads the partitions that the options name, each up to its end."""

    def __init__(self, consumer: Consumer, options: ConsumeOptions) -> None:
        self._consumer = consumer
        self._options = options
        self._ends: dict[TopicPartition, int] = {}

    async def topics(self) -> list[str]:
        """The existing topics that the options name. Raises CommandError if none exists, or for a malformed pattern."""
        options = self._options
        if options.include is None:
            assert options.topic is not None
            return [options.topic]
        try:
            pattern = re.compile(options.include)
        except re.error as error:
            raise CommandError(f"--include {options.include} is not a regular expression: {error}") from None
        names = [name for name in await self._consumer.topics() if pattern.fullmatch(name)]
        names = sorted(name for name in names if name not in INTERNAL_TOPICS or name == options.include)
        if not names:
            raise CommandError(f"no topic matches '{options.include}'; 'odradek topics --list' shows all")
        return names

    async def assign(self) -> None:
        """Assigns all partitions, seeks to their starting offsets and finds their ends. Raises CommandError."""
        consumer, options = self._consumer, self._options
        partitions: list[TopicPartition] = []
        for name in await self.topics():
            numbers = await consumer.partitions_for_topic(name)
            if not numbers:
                raise CommandError(
                    f"topic '{name}' does not exist; create it with 'odradek topics --create --topic {name}'"
                )
            if options.partition is not None and options.partition not in numbers:
                raise CommandError(f"'{name}' has no partition {options.partition}, only 0 to {len(numbers) - 1}")
            partitions += [TopicPartition(name, n) for n in numbers if options.partition in (None, n)]
        consumer.assign(partitions)
        if options.offset == "earliest":
            await consumer.seek_to_beginning()
        elif options.offset == "latest":
            await consumer.seek_to_end()
        elif options.offset.isdigit():
            consumer.seek(partitions[0], int(options.offset))
        if options.has_end:
            await self._find_ends(partitions)

    async def _find_ends(self, partitions: list[TopicPartition]) -> None:
        options = self._options
        if options.until_offset is not None:
            self._ends = dict.fromkeys(partitions, options.until_offset)
        if options.until_end or options.until_time_ms is not None:
            for partition, end in (await self._consumer.end_offsets(partitions)).items():
                self._ends[partition] = min(end, self._ends.get(partition, end))
        if options.until_time_ms is not None:
            at = await self._consumer.offsets_for_times(dict.fromkeys(partitions, options.until_time_ms))
            for partition, found in at.items():
                if found is not None:
                    self._ends[partition] = min(found.offset, self._ends[partition])
        self._pause_finished()

    def _pause_finished(self) -> None:
        positions = self._consumer.positions()
        self._consumer.pause(*(p for p, end in self._ends.items() if positions.get(p, 0) >= end))

    @property
    def is_done(self) -> bool:
        """Whether every partition has reached its end."""
        return bool(self._ends) and len(self._consumer.paused()) == len(self._ends)

    async def poll(self, timeout_ms: int, max_records: int | None) -> list[ConsumerRecord]:
        """The next records; those after the end of their partition are left out."""
        polled = await self._consumer.poll(timeout_ms, max_records)
        if self._ends:
            self._pause_finished()
        return [
            record
            for partition, records in polled.items()
            for record in records
            if partition not in self._ends or record.offset < self._ends[partition]
        ]


def consume(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek consume``, returns the exit code."""
    return main(command, "consume", arguments)
