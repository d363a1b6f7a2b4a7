"""``odradek perf end-to-end``: what ``kafka-e2e-latency.sh`` does. Source: ``EndToEndLatency``, KIP-1172.

Sends a record, waits for its acknowledgement and reads it, one after the other.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import click

from odradek.protocol.common.command_options import option, takes
from odradek.protocol.common.lazy_imports import lazy_imports

from ..command_config import CONNECTION, CONSUMER, PRODUCER, client_settings
from ..latencies import Latencies
from ..running import BOOTSTRAP_VARIABLE, DEFAULT_BOOTSTRAP_SERVER, CommandError, run
from .options import print_histogram

with lazy_imports:
    import asyncio

    from ... import types
    from ...admin import topics
    from ...consumer import consumer as consumer_module
    from ...producer import producer as producer_module

if TYPE_CHECKING:
    from ...consumer.consumer import Consumer
    from ...producer.producer import Producer
    from ...types import ConsumerRecord, Header

POLL_MS = 60_000
REPORT_EVERY = 1_000
NAMES = ("--bootstrap-server", "--topic", "--num-records", "--producer-acks", "--record-size", "--command-config")
POSITIONAL = (
    "WARNING: Positional argument usage is deprecated and will be removed in Apache Kafka 5.0. "
    f"Please use named arguments instead: {', '.join(NAMES)}"
)


class TestRecord(NamedTuple):
    """A record of random letters."""

    key: bytes | None
    value: bytes
    headers: list[Header]


def named(arguments: list[str]) -> list[str]:
    """Converts positional arguments, as before Kafka 4.2, to named ones. Raises UsageError."""
    if not arguments or any(argument.startswith("-") for argument in arguments):
        return arguments
    if len(arguments) not in (5, 6):
        raise click.UsageError(
            f"Invalid number of arguments. Expected 5 or 6 positional arguments, but got {len(arguments)}. Usage: "
            "bootstrap-server topic num-records producer-acks record-size [optional] command-config"
        )
    click.echo(POSITIONAL, err=True)
    return [part for pair in zip(NAMES, arguments, strict=False) for part in pair]


@dataclass(frozen=True, kw_only=True)
class EndToEndOptions:
    """The arguments of the command."""

    bootstrap_server: str = option(
        "--bootstrap-server",
        envvar=BOOTSTRAP_VARIABLE,
        default=DEFAULT_BOOTSTRAP_SERVER,
        show_envvar=True,
        metavar="HOST:PORT,...",
        help="One or more brokers of the cluster.",
    )
    topic: str = option("--topic", required=True, help="The topic; created with one partition if it does not exist.")
    num_records: int = option(
        "--num-records", type=click.IntRange(min=1), required=True, metavar="N", help="The number of records to send."
    )
    producer_acks: str = option(
        "--producer-acks",
        type=click.Choice(["1", "all"]),
        required=True,
        help="The acknowledgements that the producer requires.",
    )
    record_size: int = option(
        "--record-size", type=click.IntRange(min=0), required=True, metavar="BYTES", help="The size of a value."
    )
    record_key_size: int = option(
        "--record-key-size",
        type=click.IntRange(min=0),
        default=0,
        metavar="BYTES",
        help="The size of a key; 0: no key.",
    )
    record_header_key_size: int = option(
        "--record-header-key-size",
        type=click.IntRange(min=0),
        default=0,
        metavar="BYTES",
        help="The size of a header's key.",
    )
    record_header_size: int = option(
        "--record-header-size",
        type=click.IntRange(min=-1),
        default=0,
        metavar="BYTES",
        help="The size of a header's value; -1: null.",
    )
    num_headers: int = option(
        "--num-headers", type=click.IntRange(min=0), default=0, metavar="N", help="The number of headers of a record."
    )
    command_config: str | None = option(
        "--command-config",
        type=click.Path(exists=True, dir_okay=False),
        metavar="FILE",
        help="A file of client settings.",
    )


@click.command("end-to-end", help="Measure the time from a record's send to its arrival (kafka-e2e-latency.sh).")
@takes(EndToEndOptions)
def end_to_end(options: EndToEndOptions) -> int:
    """Runs the test."""
    other = frozenset({*PRODUCER, *CONSUMER})
    consumer_settings = {**client_settings(CONSUMER, options.command_config, ignored=other), "fetch_max_wait_ms": 0}
    producer_settings = client_settings(PRODUCER, options.command_config, ignored=other)
    admin_settings = client_settings(CONNECTION, options.command_config, ignored=other)
    consumer_settings.pop("group_id", None)
    producer_settings |= {"linger_ms": 0, "acks": options.producer_acks}

    async def work() -> int:
        async with topics.TopicAdmin(options.bootstrap_server, **admin_settings) as admin:
            if options.topic not in await admin.list_topics():
                click.echo(
                    f'Topic "{options.topic}" does not exist. '
                    "Will create topic with 1 partition(s) and replication factor = 1"
                )
                await admin.create_topics([topics.NewTopic(options.topic, 1, 1)])
        consumer = consumer_module.Consumer(bootstrap_servers=options.bootstrap_server, **consumer_settings)
        async with consumer, producer_module.Producer(options.bootstrap_server, **producer_settings) as producer:
            numbers = await consumer.partitions_for_topic(options.topic)
            consumer.assign(types.TopicPartition(options.topic, number) for number in numbers)
            await consumer.seek_to_end()
            await measure(producer, consumer, options)
        return 0

    return run(work, is_measuring=True)


async def measure(producer: Producer, consumer: Consumer, options: EndToEndOptions) -> None:
    """Sends and reads the records, prints every thousandth latency and the summary. Raises CommandError."""
    now, chance, latencies = asyncio.get_running_loop().time, random.Random(0), Latencies()
    for number in range(options.num_records):
        sent = a_record(chance, options)
        begin_s = now()
        await producer.send_and_wait(options.topic, sent.value, sent.key, headers=sent.headers)
        polled = await consumer.poll(POLL_MS)
        latency_ms = (now() - begin_s) * 1000
        check([record for records in polled.values() for record in records], sent)
        if number % REPORT_EVERY == 0:
            click.echo(f"{number}\t{latency_ms}")
        latencies.add(latency_ms)
    p50, p99, p999 = map(int, latencies.percentiles(0.5, 0.99, 0.999))
    click.echo(f"Avg latency: {latencies.mean_ms:.4f} ms")
    click.echo(f"Percentiles: 50th = {p50}, 99th = {p99}, 99.9th = {p999}")
    print_histogram(latencies)


def a_record(chance: random.Random, options: EndToEndOptions) -> TestRecord:
    """A record whose key, value and headers each repeat one random letter."""

    def letters(size: int) -> bytes:
        return bytes([65 + chance.randrange(26)]) * size

    headers: list[Header] = [
        (
            letters(options.record_header_key_size).decode(),
            None if options.record_header_size < 0 else letters(options.record_header_size),
        )
        for _ in range(options.num_headers)
    ]
    return TestRecord(
        letters(options.record_key_size) if options.record_key_size else None, letters(options.record_size), headers
    )


def check(read: list[ConsumerRecord], sent: TestRecord) -> None:
    """Raises CommandError unless the record that was read is the one that was sent."""
    if not read:
        raise CommandError(f"poll() timed out before finding a result (timeout:[{POLL_MS}ms])")
    if len(read) != 1:
        raise CommandError(f"Only one result was expected during this test. We found [{len(read)}]")
    for part in ("value", "key", "headers"):
        was, found = getattr(sent, part), getattr(read[0], part)
        if was != found:
            raise CommandError(f"The message {part} read [{found!r}] did not match the message {part} sent [{was!r}]")
