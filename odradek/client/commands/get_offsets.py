"""``odradek get-offsets``: what ``kafka-get-offsets.sh`` does, with its flags and output."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import click

from odradek.protocol.common.command_options import flag, included, option, takes
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import KafkaError

from ..types import TopicPartition
from .command_config import ConnectionOptions
from .kafka_command import KafkaCommand
from .output import print_json
from .running import (
    CommandError,
    json_option,
    main,
    run,
    timeout_option,
    topic_pattern,
)
from .topic_partitions import INTERNAL_TOPICS

with lazy_imports:
    from ..admin import topic_records

if TYPE_CHECKING:
    from ..admin.topic_records import TopicRecordAdmin


SPECIAL_TIMES = {
    "latest": -1,
    "earliest": -2,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}


def parse_time(text: str) -> int:
    """Parses a timestamp in ms, -1 to -6, or Kafka's name for one of these (``latest`` is -1). Raises UsageError."""
    if text in SPECIAL_TIMES:
        return SPECIAL_TIMES[text]
    try:
        return int(text)
    except ValueError:
        raise click.UsageError(
            f"Malformed time argument {text}. Use a timestamp in ms, -1 or latest, -2 or earliest, -3 or max-timestamp."
        ) from None


class PartitionRule(NamedTuple):
    """Partitions of the topics that match: from ``first``, before ``end``."""

    topic: re.Pattern[str]
    first: int
    end: int

    def selects(self, topic: str, partition: int) -> bool:
        """Whether it selects this partition."""
        return bool(self.topic.fullmatch(topic)) and self.first <= partition < self.end


def partition_filter(text: str) -> list[PartitionRule]:
    """Parses ``TOPIC:FROM-TO,...``, in which TO is exclusive. Raises UsageError, CommandError."""
    rules = []
    for rule in text.split(","):
        match = re.fullmatch(r"([^:]*)(?::(?:(\d+)|(\d*)-(\d*)))?", rule.strip())
        if match is None:
            raise click.UsageError(
                f"Invalid rule: {rule}; it must be TOPIC, TOPIC:N or TOPIC:FROM-TO; FROM or TO may be empty"
            )
        topic, single, first, last = match.groups()
        if single is not None:
            bounds = (int(single), int(single) + 1)
        else:
            bounds = (int(first) if first else 0, int(last) if last else 2**31)
        rules.append(PartitionRule(topic_pattern(topic or ".*", "--topic-partitions"), *bounds))
    return rules


def partition_numbers(text: str) -> list[int]:
    """Parses ``0,1``. Raises UsageError."""
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise click.UsageError(f"--partitions {text}: must be numbers with commas") from None


@dataclass(frozen=True, kw_only=True)
class GetOffsetsOptions:
    """The arguments of the command."""

    connection: ConnectionOptions = included(ConnectionOptions)
    topic: str | None = option("--topic", help="The topic; a regular expression. Default: all topics.")
    partitions: str | None = option("--partitions", help="Partition numbers with commas. Default: all.")
    topic_partitions: str | None = option(
        "--topic-partitions", metavar="TOPIC:N,...", help="Topics (regular expressions) with partitions or ranges."
    )
    time_: str = option(
        "--time",
        default="latest",
        show_default=True,
        help="Milliseconds since 1970; or -1 latest, -2 earliest, -3 max-timestamp.",
    )
    exclude_internal_topics: bool = flag(
        "--exclude-internal-topics", help="Leave out internal topics (__consumer_offsets ...)."
    )
    timeout_ms: int = timeout_option()
    as_json: bool = json_option()


@click.command(
    cls=KafkaCommand,
    help="Show the offsets of partitions: their ends, their starts, or offsets by time.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(GetOffsetsOptions)
def command(options: GetOffsetsOptions) -> int:
    """Checks the arguments and prints the offsets."""
    if options.topic_partitions and (options.topic or options.partitions):
        raise click.UsageError("--topic-partitions cannot be used with --topic or --partitions")
    if options.topic_partitions:
        rules = partition_filter(options.topic_partitions)
    else:
        numbers = partition_numbers(options.partitions) if options.partitions else None
        pattern = topic_pattern(options.topic or ".*", "--topic")
        if numbers is None:
            rules = [PartitionRule(pattern, 0, 2**31)]
        else:
            rules = [PartitionRule(pattern, number, number + 1) for number in numbers]
    timestamp = parse_time(options.time_)

    async def work() -> int | None:
        async with options.connection.admin(topic_records.TopicRecordAdmin, options.timeout_ms) as admin:
            return await print_offsets(admin, rules, timestamp, options.exclude_internal_topics, options.as_json)

    return run(work)


async def print_offsets(
    admin: TopicRecordAdmin,
    rules: list[PartitionRule],
    timestamp: int,
    exclude_internal: bool,
    as_json: bool,
) -> int:
    """Prints the offset of each partition. Sends one request for each, so that a failure does not affect the others."""
    names = [name for name in await admin.list_topics() if any(rule.topic.fullmatch(name) for rule in rules)]
    if exclude_internal:
        names = [name for name in names if name not in INTERNAL_TOPICS]
    described = await admin.describe_topics(names) if names else {}
    selected = [
        TopicPartition(name, number)
        for name, topic in described.items()
        for number in sorted(topic.partitions)
        if any(rule.selects(name, number) for rule in rules)
    ]
    if not selected:
        raise CommandError("Could not match any topic-partitions with the specified filters")
    failed = False
    documents = []
    for partition in selected:
        try:
            found = (await admin.list_offsets({partition: timestamp}))[partition]
        except KafkaError as error:
            click.echo(f"Skip getting offsets for topic-partition {partition}: {error.args[-1]}", err=True)
            failed = True
            continue
        if as_json:
            documents.append(
                {
                    "topic": partition.topic,
                    "partition": partition.partition,
                    "offset": found.offset if found.offset >= 0 else None,
                    "timestamp": found.timestamp if found.timestamp >= 0 else None,
                }
            )
        elif found.offset >= 0:
            click.echo(f"{partition.topic}:{partition.partition}:{found.offset}")
    if as_json:
        print_json(documents)
    return 1 if failed else 0


def get_offsets(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek get-offsets``, returns the exit code."""
    return main(command, "get-offsets", arguments)
