"""The parsed arguments of ``odradek consume``.

Owns: the flags, and parsing a time. Never does: requests to brokers. Source: ``ConsoleConsumerOptions``,
``ConsoleShareConsumerOptions``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TextIO

import click

from odradek.protocol.common.command_options import flag, option, repeated

from .command_config import (
    client_config_option,
    client_properties_option,
    deprecated_properties,
    old_config_option,
    old_properties_option,
)
from .running import bootstrap_option, json_option


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


@dataclass(frozen=True, kw_only=True)
class ConsumeOptions:
    """The arguments of the command."""

    bootstrap_server: str = bootstrap_option()
    command_config: str | None = client_config_option("consumer")
    command_properties: tuple[str, ...] = client_properties_option("consumer")
    consumer_config: None = old_config_option("consumer")
    consumer_property: None = old_properties_option("consumer")
    topic: str | None = option("--topic", help="The topic.")
    include: str | None = option("--include", help="Read all topics that match a regular expression instead.")
    partition: int | None = option("--partition", type=click.IntRange(min=0), help="Only this partition.")
    offset: str | None = option(
        "--offset", help="Where to begin: earliest, latest (default), or a number with --partition."
    )
    from_beginning: bool = flag("--from-beginning", help="Begin at the earliest record if no offset is committed.")
    group: str | None = option("--group", help="Read as a member of this group and commit. Default: no group.")
    max_messages: int | None = option(
        "--max-messages", type=click.IntRange(min=-1), help="Stop after this many records; -1: do not stop."
    )
    timeout_ms: int | None = option(
        "--timeout-ms", type=int, help="Stop if no record arrives for this many milliseconds; -1: do not stop."
    )
    until_offset: int | None = option(
        "--until-offset", type=click.IntRange(min=0), help="Stop before this offset, in each partition."
    )
    until_time: str | None = option(
        "--until-time", help="Stop before the first record at this time (ms, or ISO 8601), in each partition."
    )
    until_end: bool = flag("--until-end", help="Stop at the current end of each partition.")
    properties: tuple[str, ...] = repeated(
        "--formatter-property",
        metavar="KEY=VALUE",
        help="How to print: print.timestamp, print.key, print.offset, print.partition, print.headers, print.value, "
        "print.epoch, print.delivery, key.separator, line.separator, headers.separator, null.literal, "
        "key.deserializer, value.deserializer, headers.deserializer.",
    )
    old_properties: None = deprecated_properties("--formatter-property")
    formatter_config: TextIO | None = option(
        "--formatter-config", type=click.File(), metavar="FILE", help="A properties file with such properties."
    )
    formatter: str | None = option(
        "--formatter", metavar="CLASS", help="How to print, by the name of Kafka's class (docs/commands.md)."
    )
    key_deserializer: str | None = option(
        "--key-deserializer", metavar="CLASS", help="The deserializer of keys, by the name of Kafka's class."
    )
    value_deserializer: str | None = option(
        "--value-deserializer", metavar="CLASS", help="The deserializer of values, by the name of Kafka's class."
    )
    skip_message_on_error: bool = flag("--skip-message-on-error", help="Skip records that cannot be printed.")
    enable_systest_events: bool = flag(
        "--enable-systest-events", help="Print shutdown_complete when the consumer has closed."
    )
    isolation_level: str = option(
        "--isolation-level",
        type=click.Choice(["read_uncommitted", "read_committed"]),
        default="read_uncommitted",
        show_default=True,
    )
    share: bool = flag("--share", help="Read as a member of a share group (KIP-932), and acknowledge the records.")
    reject: bool = flag("--reject", help="With --share: reject the records, so that no member gets them again.")
    release: bool = flag("--release", help="With --share: release the records, so that a member gets them again.")
    reject_message_on_error: bool = flag(
        "--reject-message-on-error", help="With --share: reject records that cannot be printed."
    )
    as_json: bool = json_option()

    @property
    def record_limit(self) -> int | None:
        """The number of records to stop after."""
        return None if self.max_messages == -1 else self.max_messages

    @property
    def idle_limit_ms(self) -> int | None:
        """How long to wait for a record before the end."""
        return None if self.timeout_ms is not None and self.timeout_ms < 0 else self.timeout_ms

    @property
    def until_time_ms(self) -> int | None:
        """The time of ``--until-time``, in ms since 1970. Raises UsageError."""
        return None if self.until_time is None else parse_moment(self.until_time)

    @property
    def has_end(self) -> bool:
        """Whether each partition has an offset to stop at."""
        return self.until_offset is not None or self.until_time is not None or self.until_end
