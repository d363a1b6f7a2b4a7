"""``odradek perf consume``: what ``kafka-consumer-perf-test.sh`` does. Source: ``ConsumerPerformance``.

Kafka's tool decodes each record and returns its bytes. This tool only reads the lengths in each record and creates no
objects, so that it measures the broker and not Python.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

import click

from odradek.protocol.common.wall_clock import clock_ms

from ..command_config import CONSUMER, client_settings, under_flags
from ..latencies import Latencies
from ..running import CommandError, run
from ..topic_partitions import INTERNAL_TOPICS
from .consume_stats import DETAILED_HEADER, HEADER, ConsumeStats
from .date_format import DEFAULT, check_pattern
from .options import bootstrap_option, bootstrap_servers, newer, print_histogram

if TYPE_CHECKING:
    from ...consumer.consumer import Consumer
    from ...consumer.counting import CountingConsumer
    from ...types import TopicPartition

POLL_MS = 100
RECORDS_A_POLL = 100_000
"""The maximum of records in a poll. A high number is faster, because a poll has a fixed cost; Kafka's tool uses 500."""
PATH = click.Path(exists=True, dir_okay=False)


class ConsumeTest(NamedTuple):
    """The arguments of the test."""

    topic: str | None
    include: str | None
    num_records: int
    timeout_ms: int
    detailed: bool


@click.command("consume", help="Measure a consumer (kafka-consumer-perf-test.sh).")
@bootstrap_option
@click.option("--topic", help="The topic.")
@click.option("--include", metavar="REGEX", help="Read all topics that match, instead of --topic.")
@click.option("--num-records", type=click.IntRange(min=1), metavar="N", help="The number of records to read; required.")
@click.option("--messages", type=click.IntRange(min=1), hidden=True)
@click.option(
    "--group", "group_id", metavar="ID", help="The consumer group; default perf-consumer- and a random number."
)
@click.option(
    "--fetch-size",
    "max_partition_fetch_bytes",
    type=click.IntRange(min=1),
    default=1_048_576,
    show_default=True,
    metavar="BYTES",
    help="The maximum bytes of one partition in a fetch.",
)
@click.option(
    "--socket-buffer-size",
    "receive_buffer_bytes",
    type=click.IntRange(min=-1),
    metavar="BYTES",
    help="The size of a socket's receive buffer; -1, the default, leaves it to the system.",
)
@click.option("--from-latest", is_flag=True, help="Without a committed offset, begin at the log's end.")
@click.option("--command-property", "properties", multiple=True, metavar="KEY=VALUE", help="A consumer setting.")
@click.option("--command-config", "config", type=PATH, metavar="FILE", help="A file of consumer settings.")
@click.option("--consumer.config", "old_config", type=PATH, hidden=True)
@click.option(
    "--timeout",
    "timeout_ms",
    type=int,
    default=10_000,
    show_default=True,
    metavar="MS",
    help="Stop if no record arrives within this time.",
)
@click.option(
    "--reporting-interval",
    type=int,
    default=5_000,
    show_default=True,
    metavar="MS",
    help="The interval of --show-detailed-stats.",
)
@click.option("--show-detailed-stats", "detailed", is_flag=True, help="Print a line for each interval.")
@click.option(
    "--date-format",
    default=DEFAULT,
    show_default=True,
    metavar="PATTERN",
    help="The format of times, as Java's SimpleDateFormat.",
)
@click.option("--hide-header", is_flag=True, help="Do not print the header line.")
def consume(
    bootstrap_server: str,
    topic: str | None,
    include: str | None,
    num_records: int | None,
    messages: int | None,
    group_id: str | None,
    max_partition_fetch_bytes: int,
    receive_buffer_bytes: int | None,
    from_latest: bool,
    properties: tuple[str, ...],
    config: str | None,
    old_config: str | None,
    timeout_ms: int,
    reporting_interval: int,
    detailed: bool,
    date_format: str,
    hide_header: bool,
) -> int:
    """Checks the arguments and runs the test."""
    if (topic is None) == (include is None):
        raise click.UsageError("Exactly one of --topic and --include is required")
    if num_records is not None and messages is not None:
        raise click.UsageError("--num-records and --messages cannot be specified together.")
    if num_records is None and messages is None:
        raise click.UsageError("Missing option '--num-records'.")
    if messages is not None:
        click.echo("Warning: --messages is deprecated. Use --num-records instead.", err=True)
    newer(old_config, config, "--consumer.config", "--command-config")
    config = config or old_config
    if reporting_interval <= 0:
        raise click.UsageError("Reporting interval must be greater than 0.")
    try:
        check_pattern(date_format)
    except ValueError as error:
        raise click.UsageError(f"--date-format {date_format}: {error}") from None
    defaults = {"client_id": "perf-consumer-client", "check_crcs": False, "max_poll_records": RECORDS_A_POLL}
    given = client_settings(CONSUMER, config, properties)
    settings = under_flags(
        {**defaults, "auto_offset_reset": "latest" if from_latest else "earliest", **given},
        group_id=group_id or f"perf-consumer-{random.randrange(100_000)}",
        max_partition_fetch_bytes=max_partition_fetch_bytes,
        receive_buffer_bytes=receive_buffer_bytes,
    )
    server = bootstrap_servers(bootstrap_server, config, properties)
    test = ConsumeTest(topic, include, num_records or messages or 0, timeout_ms, detailed)

    async def work() -> int:
        from ...consumer.counting import CountingConsumer

        if not hide_header:
            click.echo(DETAILED_HEADER if detailed else HEADER)
        stats = ConsumeStats(clock_ms(), reporting_interval, date_format)
        async with CountingConsumer(bootstrap_servers=server, **settings) as consumer:
            await consume_records(consumer, test, stats)
        return 0

    return run(work, is_measuring=True)


async def consume_records(consumer: CountingConsumer, test: ConsumeTest, stats: ConsumeStats) -> None:
    """Reads until the wanted number of records has arrived, or none for the timeout. Prints the statistics."""
    import asyncio

    from ...consumer.consumer import RebalanceListener

    class Rebalances(RebalanceListener):
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

    consumer.subscribe(await topics_of(consumer, test), Rebalances())
    now = asyncio.get_running_loop().time
    polls, last_s = Latencies(), now()
    while stats.count < test.num_records and (now() - last_s) * 1000 <= test.timeout_ms:
        begin_s = now()
        count, size = await consumer.poll_counts(POLL_MS, test.num_records - stats.count)
        if count:
            last_s = now()
            polls.add((last_s - begin_s) * 1000)
        line = stats.add(count, size, clock_ms())
        if line is not None and test.detailed:
            click.echo(line)
    if stats.count < test.num_records:
        click.echo(
            "WARNING: Exiting before consuming the expected number of records: timeout "
            f"({test.timeout_ms} ms) exceeded. You can use the --timeout option to increase the timeout."
        )
    if not test.detailed:
        click.echo(stats.summary(clock_ms()))
    print_histogram(polls)


async def topics_of(consumer: Consumer, test: ConsumeTest) -> list[str]:
    """The topics to read. Raises CommandError if none matches."""
    if test.topic is not None:
        return [test.topic]
    pattern = re.compile(test.include or "")
    names = [name for name in await consumer.topics() if pattern.fullmatch(name) and name not in INTERNAL_TOPICS]
    if not names:
        raise CommandError(f"no topic matches '{test.include}'; 'odradek topics --list' shows all")
    return sorted(names)
