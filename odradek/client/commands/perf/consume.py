"""``odradek perf consume``: what ``kafka-consumer-perf-test.sh`` does. Source: ``ConsumerPerformance``.

Kafka's tool decodes each record and returns its bytes. This tool only reads the lengths in each record and creates no
objects, so that it measures the broker and not Python.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from odradek.protocol.common.command_options import flag, option, repeated, takes
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.wall_clock import clock_ms

from ..command_config import CONSUMER, client_settings, under_flags
from ..latencies import Latencies
from ..running import CommandError, run
from ..topic_partitions import INTERNAL_TOPICS
from .consume_stats import DETAILED_HEADER, HEADER, ConsumeStats
from .date_format import DEFAULT, check_pattern
from .options import bootstrap_option, bootstrap_servers, newer, print_histogram

with lazy_imports:
    import asyncio

    from ...consumer import consumer as consumer_module
    from ...consumer import counting

if TYPE_CHECKING:
    from ...consumer.consumer import Consumer
    from ...consumer.counting import CountingConsumer
    from ...types import TopicPartition

POLL_MS = 100
RECORDS_A_POLL = 100_000
"""The maximum of records in a poll. A high number is faster, because a poll has a fixed cost; Kafka's tool uses 500."""
PATH = click.Path(exists=True, dir_okay=False)


@dataclass(frozen=True, kw_only=True)
class PerfConsumeOptions:
    """The arguments of the command."""

    bootstrap_server: str = bootstrap_option()
    topic: str | None = option("--topic", help="The topic.")
    include: str | None = option("--include", metavar="REGEX", help="Read all topics that match, instead of --topic.")
    num_records: int | None = option(
        "--num-records", type=click.IntRange(min=1), metavar="N", help="The number of records to read; required."
    )
    messages: int | None = option("--messages", type=click.IntRange(min=1), hidden=True)
    group_id: str | None = option(
        "--group", metavar="ID", help="The consumer group; default perf-consumer- and a random number."
    )
    max_partition_fetch_bytes: int = option(
        "--fetch-size",
        type=click.IntRange(min=1),
        default=1_048_576,
        show_default=True,
        metavar="BYTES",
        help="The maximum bytes of one partition in a fetch.",
    )
    receive_buffer_bytes: int | None = option(
        "--socket-buffer-size",
        type=click.IntRange(min=-1),
        metavar="BYTES",
        help="The size of a socket's receive buffer; -1, the default, leaves it to the system.",
    )
    from_latest: bool = flag("--from-latest", help="Without a committed offset, begin at the log's end.")
    properties: tuple[str, ...] = repeated("--command-property", metavar="KEY=VALUE", help="A consumer setting.")
    config: str | None = option("--command-config", type=PATH, metavar="FILE", help="A file of consumer settings.")
    old_config: str | None = option("--consumer.config", type=PATH, hidden=True)
    timeout_ms: int = option(
        "--timeout",
        type=int,
        default=10_000,
        show_default=True,
        metavar="MS",
        help="Stop if no record arrives within this time.",
    )
    reporting_interval: int = option(
        "--reporting-interval",
        type=int,
        default=5_000,
        show_default=True,
        metavar="MS",
        help="The interval of --show-detailed-stats.",
    )
    detailed: bool = flag("--show-detailed-stats", help="Print a line for each interval.")
    date_format: str = option(
        "--date-format",
        default=DEFAULT,
        show_default=True,
        metavar="PATTERN",
        help="The format of times, as Java's SimpleDateFormat.",
    )
    hide_header: bool = flag("--hide-header", help="Do not print the header line.")


@click.command("consume", help="Measure a consumer (kafka-consumer-perf-test.sh).")
@takes(PerfConsumeOptions)
def consume(options: PerfConsumeOptions) -> int:
    """Checks the arguments and runs the options."""
    if (options.topic is None) == (options.include is None):
        raise click.UsageError("Exactly one of --topic and --include is required")
    if options.num_records is not None and options.messages is not None:
        raise click.UsageError("--num-records and --messages cannot be specified together.")
    if options.num_records is None and options.messages is None:
        raise click.UsageError("Missing option '--num-records'.")
    if options.messages is not None:
        click.echo("Warning: --messages is deprecated. Use --num-records instead.", err=True)
    newer(options.old_config, options.config, "--consumer.config", "--command-config")
    options = replace(
        options, config=options.config or options.old_config, num_records=options.num_records or options.messages
    )
    if options.reporting_interval <= 0:
        raise click.UsageError("Reporting interval must be greater than 0.")
    try:
        check_pattern(options.date_format)
    except ValueError as error:
        raise click.UsageError(f"--date-format {options.date_format}: {error}") from None
    defaults = {"client_id": "perf-consumer-client", "check_crcs": False, "max_poll_records": RECORDS_A_POLL}
    given = client_settings(CONSUMER, options.config, options.properties)
    settings = under_flags(
        {**defaults, "auto_offset_reset": "latest" if options.from_latest else "earliest", **given},
        group_id=options.group_id or f"perf-consumer-{random.randrange(100_000)}",
        max_partition_fetch_bytes=options.max_partition_fetch_bytes,
        receive_buffer_bytes=options.receive_buffer_bytes,
    )
    server = bootstrap_servers(options.bootstrap_server, options.config, options.properties)

    async def work() -> int:
        if not options.hide_header:
            click.echo(DETAILED_HEADER if options.detailed else HEADER)
        stats = ConsumeStats(clock_ms(), options.reporting_interval, options.date_format)
        async with counting.CountingConsumer(bootstrap_servers=server, **settings) as consumer:
            await consume_records(consumer, options, stats)
        return 0

    return run(work, is_measuring=True)


async def consume_records(consumer: CountingConsumer, options: PerfConsumeOptions, stats: ConsumeStats) -> None:
    """Reads until the expected number of records has arrived, or none for the timeout. Prints the statistics."""

    class Rebalances(consumer_module.RebalanceListener):
        """Measures the time during which the consumer has no partitions."""

        def __init__(self) -> None:
            self.owned: set[TopicPartition] = set()
            self.since_ms = clock_ms()

        async def on_partitions_revoked(self, partitions: Collection[TopicPartition]) -> None:
            self.owned.difference_update(partitions)
            if not self.owned:
                self.since_ms = clock_ms()

        async def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> None:
            if not self.owned:
                stats.rebalanced(clock_ms() - self.since_ms)
            self.owned.update(partitions)

    consumer.subscribe(await topics_of(consumer, options), Rebalances())
    now = asyncio.get_running_loop().time
    polls, last_s = Latencies(), now()
    expected = options.num_records or 0
    while stats.count < expected and (now() - last_s) * 1000 <= options.timeout_ms:
        begin_s = now()
        count, size = await consumer.poll_counts(POLL_MS, expected - stats.count)
        if count:
            last_s = now()
            polls.add((last_s - begin_s) * 1000)
        line = stats.add(count, size, clock_ms())
        if line is not None and options.detailed:
            click.echo(line)
    if stats.count < expected:
        click.echo(
            "WARNING: Exiting before consuming the expected number of records: timeout "
            f"({options.timeout_ms} ms) exceeded. You can use the --timeout option to increase the timeout."
        )
    if not options.detailed:
        click.echo(stats.summary(clock_ms()))
    print_histogram(polls)


async def topics_of(consumer: Consumer, options: PerfConsumeOptions) -> list[str]:
    """The topics to read. Raises CommandError if none matches."""
    if options.topic is not None:
        return [options.topic]
    pattern = re.compile(options.include or "")
    names = [name for name in await consumer.topics() if pattern.fullmatch(name) and name not in INTERNAL_TOPICS]
    if not names:
        raise CommandError(f"no topic matches '{options.include}'; 'odradek topics --list' shows all")
    return sorted(names)
