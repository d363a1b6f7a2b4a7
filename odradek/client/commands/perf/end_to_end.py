"""``odradek perf end-to-end``: what ``kafka-e2e-latency.sh`` does. Source: ``EndToEndLatency``, KIP-1172.

Sends a record, waits for its acknowledgement and reads it, one after the other.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

import click

from ..command_config import CONNECTION, CONSUMER, PRODUCER, client_settings
from ..latencies import Latencies
from ..running import BOOTSTRAP_VARIABLE, DEFAULT_BOOTSTRAP_SERVER, CommandError, run
from .options import print_histogram

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


class Sizes(NamedTuple):
    """The sizes of a record's parts in bytes, and the number of headers. A ``header_value`` of -1 is null."""

    value: int
    key: int
    header_key: int
    header_value: int
    headers: int


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


@click.command("end-to-end", help="Measure the time from a record's send to its arrival (kafka-e2e-latency.sh).")
@click.option(
    "--bootstrap-server",
    envvar=BOOTSTRAP_VARIABLE,
    default=DEFAULT_BOOTSTRAP_SERVER,
    show_envvar=True,
    metavar="HOST:PORT,...",
    help="One or more brokers of the cluster.",
)
@click.option("--topic", required=True, help="The topic; created with one partition if it does not exist.")
@click.option(
    "--num-records", type=click.IntRange(min=1), required=True, metavar="N", help="The number of records to send."
)
@click.option(
    "--producer-acks",
    type=click.Choice(["1", "all"]),
    required=True,
    help="The acknowledgements that the producer requires.",
)
@click.option("--record-size", type=click.IntRange(min=0), required=True, metavar="BYTES", help="The size of a value.")
@click.option(
    "--record-key-size", type=click.IntRange(min=0), default=0, metavar="BYTES", help="The size of a key; 0: no key."
)
@click.option(
    "--record-header-key-size",
    type=click.IntRange(min=0),
    default=0,
    metavar="BYTES",
    help="The size of a header's key.",
)
@click.option(
    "--record-header-size",
    type=click.IntRange(min=-1),
    default=0,
    metavar="BYTES",
    help="The size of a header's value; -1: null.",
)
@click.option(
    "--num-headers", type=click.IntRange(min=0), default=0, metavar="N", help="The number of headers of a record."
)
@click.option(
    "--command-config", type=click.Path(exists=True, dir_okay=False), metavar="FILE", help="A file of client settings."
)
def end_to_end(
    bootstrap_server: str,
    topic: str,
    num_records: int,
    producer_acks: str,
    record_size: int,
    record_key_size: int,
    record_header_key_size: int,
    record_header_size: int,
    num_headers: int,
    command_config: str | None,
) -> int:
    """Runs the test."""
    other = frozenset({*PRODUCER, *CONSUMER})
    consumer_settings = {**client_settings(CONSUMER, command_config, ignored=other), "fetch_max_wait_ms": 0}
    producer_settings = client_settings(PRODUCER, command_config, ignored=other)
    admin_settings = client_settings(CONNECTION, command_config, ignored=other)
    consumer_settings.pop("group_id", None)
    producer_settings |= {"linger_ms": 0, "acks": producer_acks}
    sizes = Sizes(record_size, record_key_size, record_header_key_size, record_header_size, num_headers)

    async def work() -> int:
        from ...admin.topics import NewTopic, TopicAdmin
        from ...consumer.consumer import Consumer
        from ...producer.producer import Producer
        from ...types import TopicPartition

        async with TopicAdmin(bootstrap_server, **admin_settings) as admin:
            if topic not in await admin.list_topics():
                click.echo(
                    f'Topic "{topic}" does not exist. Will create topic with 1 partition(s) and replication factor = 1'
                )
                await admin.create_topics([NewTopic(topic, 1, 1)])
        consumer = Consumer(bootstrap_servers=bootstrap_server, **consumer_settings)
        async with consumer, Producer(bootstrap_server, **producer_settings) as producer:
            numbers = await consumer.partitions_for_topic(topic)
            consumer.assign(TopicPartition(topic, number) for number in numbers)
            await consumer.seek_to_end()
            await measure(producer, consumer, topic, num_records, sizes)
        return 0

    return run(work, is_measuring=True)


async def measure(producer: Producer, consumer: Consumer, topic: str, count: int, sizes: Sizes) -> None:
    """Sends and reads the records, prints every thousandth latency and the summary. Raises CommandError."""
    import asyncio

    now, chance, latencies = asyncio.get_running_loop().time, random.Random(0), Latencies()
    for number in range(count):
        sent = a_record(chance, sizes)
        begin_s = now()
        await producer.send_and_wait(topic, sent.value, sent.key, headers=sent.headers)
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


def a_record(chance: random.Random, sizes: Sizes) -> TestRecord:
    """A record whose key, value and headers each repeat one random letter."""

    def letters(size: int) -> bytes:
        return bytes([65 + chance.randrange(26)]) * size

    headers: list[Header] = [
        (letters(sizes.header_key).decode(), None if sizes.header_value < 0 else letters(sizes.header_value))
        for _ in range(sizes.headers)
    ]
    return TestRecord(letters(sizes.key) if sizes.key else None, letters(sizes.value), headers)


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
