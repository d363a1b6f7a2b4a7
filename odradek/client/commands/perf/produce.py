"""``odradek perf produce``: what ``kafka-producer-perf-test.sh`` does.

Owns: flags, the loop that sends, transactions, the throughput limit. The records that may be sent now are queued in one
call (``Producer.send_values``), at most those of one batch: so they have one send time and one latency, which counts
for each of them. Records with keys are sent one by one, because each key has its own partition. Source:
``ProducerPerformance``, ``ThroughputThrottler``.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import click

from odradek.protocol.common.command_options import flag, option, repeated, takes
from odradek.protocol.common.lazy_imports import lazy_imports

from ..command_config import PRODUCER, Settings, client_settings
from ..running import CommandError, run
from .options import bootstrap_option, bootstrap_servers, newer, print_histogram
from .payloads import KeySource, PayloadSource, keys_in_turn, numbers, one_of, random_keys, random_letters
from .produce_stats import ProduceStats

with lazy_imports:
    import asyncio
    import uuid

    from ...producer import batches
    from ...producer import producer as producer_module

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from ...producer.producer import Producer
    from ...types import RecordMetadata

TRANSACTION_MS = 3_000
SHORTEST_PAUSE_S = 0.002
"""With a throughput limit the tool sleeps at least this long, and then sends what became due (``MIN_SLEEP_NS``)."""
BATCH_SIZE = 16_384
YIELD_EVERY = 8
"""Calls between two turns of the event loop, in which answers are read."""
KNOWN: Settings = {**PRODUCER, "transactional.id": ("transactional_id", str)}
NO_KEYS, KEYS_IN_TURN, RANDOM_KEYS = "none", "range", "random"
LISTS = ("--producer-props", "--command-property")
PATH = click.Path(exists=True, dir_okay=False)


@dataclass(frozen=True, kw_only=True)
class PerfProduceOptions:
    """The arguments of the command."""

    bootstrap_server: str = bootstrap_option()
    topic: str = option("--topic", required=True, help="The topic.")
    num_records: int = option(
        "--num-records", type=int, required=True, metavar="N", help="The number of records to send."
    )
    record_size: int | None = option(
        "--record-size", type=int, metavar="BYTES", help="Send random letters of this size."
    )
    payload_file: str | None = option(
        "--payload-file", type=PATH, metavar="FILE", help="Send records chosen at random from a file."
    )
    payload_delimiter: str = option(
        "--payload-delimiter", default="\\n", show_default=True, help="The separator of the file's records."
    )
    payload_monotonic: bool = flag("--payload-monotonic", help="Send rising numbers.")
    throughput: float = option(
        "--throughput", type=float, required=True, help="The maximum rate in records a second; -1: no limit."
    )
    properties: tuple[str, ...] = repeated("--command-property", metavar="KEY=VALUE ...", help="A producer setting.")
    old_properties: tuple[str, ...] = repeated("--producer-props", hidden=True)
    config: str | None = option("--command-config", type=PATH, metavar="FILE", help="A file of producer settings.")
    old_config: str | None = option("--producer.config", type=PATH, hidden=True)
    transactional_id: str | None = option(
        "--transactional-id", metavar="ID", help="Send in transactions with this transactional id."
    )
    transaction_duration_ms: int | None = option(
        "--transaction-duration-ms", type=int, metavar="MS", help="How long a transaction lasts; default 3000."
    )
    warmup_records: int = option(
        "--warmup-records",
        type=int,
        default=0,
        show_default=True,
        metavar="N",
        help="The first N records are summarized separately.",
    )
    reporting_interval: int = option(
        "--reporting-interval",
        type=int,
        default=5_000,
        show_default=True,
        metavar="MS",
        help="The interval of the printed lines.",
    )
    record_key_range: int | None = option(
        "--record-key-range",
        type=click.IntRange(-(1 << 31), (1 << 31) - 1),
        metavar="N",
        help="Keys are the numbers below N, as text.",
    )
    key_distribution: str = option(
        "--key-distribution",
        type=click.Choice((NO_KEYS, KEYS_IN_TURN, RANDOM_KEYS)),
        default=NO_KEYS,
        show_default=True,
        help="Send records without keys, with the keys in turn, or with random ones.",
    )
    random_seed: int = option(
        "--random-seed",
        type=click.IntRange(-(1 << 63), (1 << 63) - 1),
        default=0,
        show_default=True,
        metavar="SEED",
        help="The seed of random keys and values.",
    )


class ProduceTest(NamedTuple):
    """What a test needs besides the options: how long its transactions last (None: none), the size of a batch."""

    options: PerfProduceOptions
    transaction_ms: int | None
    batch_size: int


@click.command("produce", help="Measure a producer (kafka-producer-perf-test.sh).")
@takes(PerfProduceOptions)
def produce(options: PerfProduceOptions) -> int:
    """Checks the arguments and runs the test."""
    check_numbers(options)
    if (options.record_size is not None) + (options.payload_file is not None) + options.payload_monotonic != 1:
        raise click.UsageError("exactly one of --record-size, --payload-file and --payload-monotonic is needed")
    newer(options.old_properties, options.properties, "--producer-props", "--command-property")
    newer(options.old_config, options.config, "--producer.config", "--command-config")
    options = replace(
        options,
        config=options.config or options.old_config,
        properties=options.properties or options.old_properties,
    )
    settings = {"client_id": "perf-producer-client", **client_settings(KNOWN, options.config, options.properties)}
    if options.transactional_id is not None:
        settings["transactional_id"] = options.transactional_id
    elif options.transaction_duration_ms is not None and "transactional_id" not in settings:
        settings["transactional_id"] = f"performance-producer-{uuid.uuid4()}"
    duration_ms = (options.transaction_duration_ms or TRANSACTION_MS) if "transactional_id" in settings else None
    server = bootstrap_servers(options.bootstrap_server, options.config, options.properties)
    chance = Random(options.random_seed)
    batch_size = int(settings.get("batch_size", BATCH_SIZE))
    values = the_values(options, chance, batch_size)
    keys = the_keys(options, chance)
    test = ProduceTest(options, duration_ms, batch_size)

    async def work() -> int:
        async with producer_module.Producer(server, **settings) as producer:
            return await ProduceRun(producer, test, values, keys).run()

    with rare_collections():
        return run(work, is_measuring=True)


OBJECTS_A_COLLECTION = 200_000
"""Several times the objects of a full queue with the default ``buffer.memory``."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Lets Python collect garbage only after OBJECTS_A_COLLECTION new objects.

    A producer that sends as fast as it can has thousands of batches queued. The collector looked at them again and
    again, a tenth of the processor time, and found nothing: the client leaves no cycles when it works.
    """
    young, middle, old = gc.get_threshold()
    gc.set_threshold(OBJECTS_A_COLLECTION, middle, old)
    try:
        yield
    finally:
        gc.set_threshold(young, middle, old)


def check_numbers(options: PerfProduceOptions) -> None:
    """Raises UsageError, with Kafka's message, if a number is out of range."""
    for name, number in (
        ("--num-records", options.num_records),
        ("--record-size", options.record_size),
        ("--transaction-duration-ms", options.transaction_duration_ms),
        ("--reporting-interval", options.reporting_interval),
        ("--record-key-range", options.record_key_range),
    ):
        if number is not None and number <= 0:
            raise click.UsageError(f"{name} should be greater than zero.")
    if options.warmup_records >= options.num_records:
        raise click.UsageError(
            "The value for --warmup-records must be strictly fewer than the number of records in the test, "
            "--num-records."
        )
    if options.record_key_range is not None and options.key_distribution == NO_KEYS:
        raise click.UsageError("--key-distribution must be 'range' or 'random' when --record-key-range is specified.")
    if options.record_key_range is None and options.key_distribution != NO_KEYS:
        raise click.UsageError("--record-key-range is required when --key-distribution is 'range' or 'random'.")


def the_values(options: PerfProduceOptions, chance: Random, batch_size: int) -> PayloadSource:
    """The source of the records' values. Raises CommandError if the payload file is empty."""
    payload_file, delimiter = options.payload_file, options.payload_delimiter
    if payload_file is not None:
        click.echo(f"Reading payloads from: {Path(payload_file).absolute()}")
        text = Path(payload_file).read_bytes()
        if not text:
            raise CommandError(f"--payload-file {payload_file} is empty")
        separator = b"\n" if delimiter == "\\n" else delimiter.encode()
        payloads = text.removesuffix(separator).split(separator)
        click.echo(f"Number of records read: {len(payloads)}")
        return one_of(payloads, chance)
    if options.record_size is None:
        return numbers(options.num_records - 1)
    return random_letters(options.record_size, chance, batch_size)


def the_keys(options: PerfProduceOptions, chance: Random) -> KeySource | None:
    """The source of the records' keys; None if they have none."""
    if options.record_key_range is None:
        return None
    if options.key_distribution == RANDOM_KEYS:
        return random_keys(options.record_key_range, chance)
    return keys_in_turn(options.record_key_range)


class ProduceRun:
    """Sends the records of one test and counts the acknowledgements."""

    def __init__(
        self, producer: Producer, test: ProduceTest, values: PayloadSource, keys: KeySource | None = None
    ) -> None:
        self._producer, self._test, self._values, self._keys = producer, test, values, keys
        self._together = batches.values_that_fit(test.batch_size, values.largest)
        self._calls = 0
        self._now_s = asyncio.get_running_loop().time
        self._stats = ProduceStats(self._now_ms(), test.options.reporting_interval)
        self._steady: ProduceStats | None = None
        self._errors: list[str] = []
        self._failed = 0

    def _now_ms(self) -> float:
        return self._now_s() * 1000

    async def run(self) -> int:
        """Runs the test and prints the results. Returns exit code 1 if a record was not acknowledged, otherwise 0."""
        test, options, producer = self._test, self._test.options, self._producer
        if test.transaction_ms is not None:
            await producer.init_transactions()
        if options.warmup_records > 0:
            click.echo(
                f"Warmup first {options.warmup_records} records. "
                "Steady state results will print after the complete test summary."
            )
        begun_ms: float | None = None
        sent, start_s = 0, self._now_s()
        while sent < options.num_records:
            if test.transaction_ms is not None and begun_ms is None:
                await producer.begin_transaction()
                begun_ms = self._now_ms()
            if sent == options.warmup_records and sent:
                self._steady = ProduceStats(self._now_ms(), test.options.reporting_interval, steady=True)
                self._stats.quiet = True
            room = min(
                self._together,
                (options.warmup_records if sent < options.warmup_records else options.num_records) - sent,
            )
            count = await self._allowed(room, sent, start_s)
            values = self._values.take(sent, count)
            if self._keys is None:
                await self._send(values)
            else:
                await self._send_with_keys(values, self._keys(sent, count))
            sent += count
            if begun_ms is not None and self._now_ms() - begun_ms >= (test.transaction_ms or 0):
                await producer.commit_transaction()
                begun_ms = None
        if begun_ms is not None:
            await producer.commit_transaction()
        await producer.flush()
        self._print()
        return 1 if self._failed else 0

    async def _allowed(self, most: int, sent: int, start_s: float) -> int:
        """Waits until the throughput limit allows a record. Returns the number allowed now, at most ``most``.

        It yields to the event loop now and then, so that the producer can send.
        """
        if self._test.options.throughput <= 0:
            self._calls += 1
            if self._calls % YIELD_EVERY == 0:
                await asyncio.sleep(0)
            return most
        pause_s = start_s + (sent + 1) / self._test.options.throughput - self._now_s()
        await asyncio.sleep(max(SHORTEST_PAUSE_S, pause_s) if pause_s > 0 else 0)
        return min(most, max(1, int((self._now_s() - start_s) * self._test.options.throughput) - sent))

    async def _send(self, values: Sequence[bytes]) -> None:
        """Queues records. Their latency begins here, before the producer may wait for memory, as in Kafka's tool."""
        done = self._acknowledged(len(values), self._values.size_of(values))
        (await self._producer.send_values(self._test.options.topic, values)).add_done_callback(done)

    async def _send_with_keys(self, values: Sequence[bytes], keys: Sequence[bytes]) -> None:
        """Queues records with keys, each with a send time and a latency of its own."""
        for value, key in zip(values, keys, strict=True):
            done = self._acknowledged(1, len(value))
            (await self._producer.send(self._test.options.topic, value, key)).add_done_callback(done)

    def _acknowledged(self, count: int, size: int) -> Callable[[asyncio.Future[RecordMetadata]], None]:
        """What counts the answer to records that are sent now. ``size``: the bytes of their values."""
        sent_ms, steady = self._now_ms(), self._steady

        def done(future: asyncio.Future[RecordMetadata]) -> None:
            if future.cancelled():
                return
            failure = future.exception()
            if failure is not None:
                self._failed += count
                self._errors.append(str(failure.args[-1] if failure.args else failure))
                return
            now_ms = self._now_ms()
            for stats in filter(None, (self._stats, steady)):
                for line in stats.record(now_ms - sent_ms, count, size, now_ms):
                    click.echo(line)

        return done

    def _print(self) -> None:
        now_ms = self._now_ms()
        click.echo(self._stats.summary(now_ms))
        if self._steady is not None:
            click.echo(self._steady.summary(now_ms))
        print_histogram(self._stats.latencies if self._steady is None else self._steady.latencies)
        if self._failed:
            click.echo(f"odradek perf produce: {self._failed} records failed: {self._errors[0]}", err=True)
