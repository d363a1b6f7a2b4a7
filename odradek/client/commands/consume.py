"""``odradek consume``: does what ``kafka-console-consumer.sh`` does, and can stop at an offset, a time or the end.

With ``--share`` it does what ``kafka-console-share-consumer.sh`` does (:mod:`.share_consume`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from odradek.protocol.common.command_options import takes
from odradek.protocol.common.lazy_imports import lazy_imports

from ..types import ConsumerRecord, TopicPartition
from .command_config import (
    CONSUMER,
    SHARE_CONSUMER,
    client_settings,
    read_properties,
    under_flags,
    with_deprecated,
)
from .consume_options import ConsumeOptions, parse_moment
from .deserializers import DeserializationError
from .kafka_command import KafkaCommand
from .message_formatters import Formatter, formatter_of
from .record_format import RecordFormat
from .running import (
    CommandError,
    key_values,
    main,
    run,
)
from .topic_partitions import INTERNAL_TOPICS

with lazy_imports:
    import asyncio

    from ..consumer import consumer as consumer_module
    from . import share_consume

if TYPE_CHECKING:
    from ..consumer.consumer import Consumer

POLL_MS = 1_000
SHARE_GROUP = "console-share-consumer"
"""The share group without ``--group``, and the client id of its member. Source: ``ConsoleShareConsumerOptions``."""


REFUSED = {
    "formatter-property": ("property",),
    "command-property": ("consumer-property",),
    "command-config": ("consumer.config",),
    "reject": ("release",),
    "share": (
        "include",
        "partition",
        "offset",
        "from-beginning",
        "until-offset",
        "until-time",
        "until-end",
        "isolation-level",
        "skip-message-on-error",
    ),
}


@click.command(
    cls=KafkaCommand,
    refused=REFUSED,
    help="Print the records of a topic.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(ConsumeOptions)
def command(options: ConsumeOptions) -> int:
    """Checks the arguments and prints."""
    if options.offset is not None:
        options = replace(options, offset=options.offset.lower())
    check_place(options)
    formatter = the_formatter(options.formatter, shown_properties(options), as_json=options.as_json)
    try:
        return _read_as_share_group(options, formatter) if options.share else _read(options, formatter)
    finally:
        if options.enable_systest_events:
            click.echo("shutdown_complete")


def _read_as_share_group(options: ConsumeOptions, formatter: Formatter) -> int:
    given = client_settings(SHARE_CONSUMER, options.command_config, options.command_properties)
    group_id = the_group(given, options.group) or SHARE_GROUP
    settings = {"client_id": SHARE_GROUP, **given, "group_id": group_id}
    return run(lambda: share_consume.share_consume_until_done(settings, options, formatter))


def _read(options: ConsumeOptions, formatter: Formatter) -> int:
    given = client_settings(CONSUMER, options.command_config, options.command_properties)
    settings = consumer_settings(given, options, starting_point(given, options))
    has_group = settings["group_id"] is not None
    if has_group and (options.partition is not None or options.offset is not None):
        raise click.UsageError("Options group and partition (or offset) cannot be specified together.")
    if options.until_time is not None:
        parse_moment(options.until_time)
    if has_group and options.has_end:
        raise click.UsageError("--until-... and --group cannot be used together, because a group's partitions change")
    return run(lambda: consume_until_done(settings, options, formatter))


def check_place(options: ConsumeOptions) -> None:
    """Raises UsageError if topic, partition and starting offset are missing or contradictory."""
    offset = options.offset
    if not options.share and (options.reject or options.release or options.reject_message_on_error):
        raise click.UsageError("--reject, --release and --reject-message-on-error go with --share")
    if (options.topic is None) == (options.include is None):
        raise click.UsageError("Exactly one of --topic and --include is required")
    if options.partition is not None and options.topic is None:
        raise click.UsageError("--partition needs --topic")
    if offset is not None and offset not in ("earliest", "latest"):
        if not offset.isdigit():
            raise click.UsageError(
                f"The provided offset value '{offset}' is incorrect. Valid: earliest, latest, a number"
            )
        if options.partition is None:
            raise click.UsageError("The partition is required when offset is specified.")
    if options.from_beginning and offset is not None:
        raise click.UsageError("--from-beginning and --offset cannot be used together")


def starting_point(given: Mapping[str, Any], options: ConsumeOptions) -> str:
    """The ``auto.offset.reset``: ``earliest`` or ``latest``. Raises UsageError if flag and setting contradict."""
    if options.from_beginning and given.get("auto_offset_reset", "earliest") != "earliest":
        raise click.UsageError(f"Can't specify --from-beginning and auto.offset.reset={given['auto_offset_reset']}")
    return "earliest" if options.from_beginning or options.offset == "earliest" else "latest"


def shown_properties(options: ConsumeOptions) -> dict[str, str]:
    """The formatter's properties: those of the command line override those of the file. Raises UsageError.

    Kafka's formatters ignore unknown properties. Here they are named on standard error.
    """
    deserializers = {"key.deserializer": options.key_deserializer, "value.deserializer": options.value_deserializer}
    shown = {
        **(read_properties(options.formatter_config.read()) if options.formatter_config is not None else {}),
        **key_values(with_deprecated(options.properties), "--formatter-property"),
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


def consumer_settings(given: Mapping[str, Any], options: ConsumeOptions, offset_reset: str) -> dict[str, Any]:
    """The consumer's arguments from file and flags; ``group_id`` may be None. Raises UsageError if groups differ."""
    group_id = the_group(given, options.group)
    defaults = {"client_id": "console-consumer", "auto_offset_reset": offset_reset}
    settings = under_flags({**defaults, **given}, isolation_level=options.isolation_level)
    return {**settings, "group_id": group_id}


def the_group(given: Mapping[str, Any], group: str | None) -> str | None:
    """The group of ``--group`` or of the settings, None without one. Raises UsageError if they differ."""
    group_id: str | None = given.get("group_id", group)
    if group is not None and group_id != group:
        raise click.UsageError(
            "The group ids provided in different places (--group, --command-property, --command-config) do not match. "
            f"Detected group ids: '{group}', '{group_id}'"
        )
    return group_id


async def consume_until_done(settings: Mapping[str, Any], options: ConsumeOptions, formatter: Formatter) -> int:
    """Reads and prints records, then prints their number. ``settings``: the consumer's other arguments."""
    consumer = consumer_module.Consumer(bootstrap_servers=options.bootstrap_server, **settings)
    printed = 0
    try:
        await consumer.start([] if options.topic is None else [options.topic])
        try:
            reader = PartitionReader(consumer, options, options.offset or settings["auto_offset_reset"])
            if consumer.has_group:
                consumer.subscribe(await reader.topics())
            else:
                await reader.assign()
            loop = asyncio.get_running_loop()
            last_record = loop.time()
            while not reader.is_done and (options.record_limit is None or printed < options.record_limit):
                wait_ms = POLL_MS
                if options.idle_limit_ms is not None:
                    left_ms = options.idle_limit_ms - (loop.time() - last_record) * 1000
                    if left_ms <= 0:
                        break
                    wait_ms = min(wait_ms, int(left_ms) + 1)
                limit = None if options.record_limit is None else options.record_limit - printed
                records = await reader.poll(wait_ms, limit)
                for record in records:
                    sys.stdout.buffer.write(printed_form(record, options, formatter))
                if records:
                    sys.stdout.buffer.flush()
                    printed += len(records)
                    last_record = loop.time()
        finally:
            await consumer.stop()
    finally:
        click.echo(f"Processed a total of {printed} messages", err=True)
    return 0


def printed_form(record: ConsumerRecord, options: ConsumeOptions, formatter: Formatter) -> bytes:
    """The output for a record. If it cannot be decoded, raises CommandError, or skips it (skip_message_on_error)."""
    try:
        return formatter(record)
    except DeserializationError as error:
        where = f"{record.topic}-{record.partition} at offset {record.offset}"
        if not options.skip_message_on_error:
            raise CommandError(f"{where}: {error}; --skip-message-on-error skips such records") from None
        click.echo(f"Error processing message, skipping this message: {where}: {error}", err=True)
        return b""


class PartitionReader:
    """Reads the partitions that the options name, each from ``start`` (earliest, latest, an offset) up to its end."""

    def __init__(self, consumer: Consumer, options: ConsumeOptions, start: str) -> None:
        self._consumer = consumer
        self._options, self._start = options, start
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
        if self._start == "earliest":
            await consumer.seek_to_beginning()
        elif self._start == "latest":
            await consumer.seek_to_end()
        elif self._start.isdigit():
            consumer.seek(partitions[0], int(self._start))
        if options.has_end:
            await self._find_ends(partitions)

    async def _find_ends(self, partitions: list[TopicPartition]) -> None:
        options = self._options
        if options.until_offset is not None:
            self._ends = dict.fromkeys(partitions, options.until_offset)
        until_time_ms = options.until_time_ms
        if options.until_end or until_time_ms is not None:
            for partition, end in (await self._consumer.end_offsets(partitions)).items():
                self._ends[partition] = min(end, self._ends.get(partition, end))
        if until_time_ms is not None:
            at = await self._consumer.offsets_for_times(dict.fromkeys(partitions, until_time_ms))
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
