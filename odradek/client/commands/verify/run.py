"""One run of ``odradek verify``: topic, writer, reader, progress.

Owns: the order of the steps. Never does: the comparison (``checker.py``).
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click

from ...admin.topic_records import TopicRecordAdmin
from ...admin.topics import NewTopic
from ...cluster.list_offsets import LATEST_TIMESTAMP
from ...consumer.consumer import Consumer
from ...producer.producer import Producer
from ...types import TopicPartition
from ..running import CommandError
from .checker import Checker, RecordFate
from .plan import KEYS, VerifyPlan
from .reader import VerifyReader
from .report import Report, report_of
from .writer import VerifyWriter

PARTITIONS = 3
PROGRESS_S = 5.0
QUIET_S = 1.0
"""The progress line has the last error if nothing was acknowledged for this time."""
KEPT_FOREVER = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
"""Configurations of a new topic: no retention and no compaction, which would look like lost records."""


async def verify_cluster(
    plan: VerifyPlan, admin: dict[str, Any], producer: dict[str, Any], consumer: dict[str, Any]
) -> Report:
    """Writes the records, reads them and compares. The dictionaries are the arguments of the clients.

    Raises CommandError; ClientError and KafkaError if the cluster does not answer at the start.
    """
    now_s = asyncio.get_running_loop().time
    async with TopicRecordAdmin(**admin) as topics, Consumer(**consumer) as reading:
        partitions = await prepared(topics, plan)
        ends = await topics.list_offsets(dict.fromkeys(partitions, LATEST_TIMESTAMP))
        checker, start_s = Checker(KEYS), now_s()
        reader = VerifyReader(
            plan, checker, reading, topics, {partition: end.offset for partition, end in ends.items()}
        )
        writer = VerifyWriter(plan, checker, lambda: Producer(**producer))
        await write_and_read(writer, reader, VerifyProgress(checker, writer, reader, now_s))
        return report_of(plan.topic, len(partitions), now_s() - start_s, checker, reader.latencies)


async def prepared(admin: TopicRecordAdmin, plan: VerifyPlan) -> list[TopicPartition]:
    """Creates the topic if it does not exist. Returns its partitions. Raises CommandError, KafkaError."""
    if plan.topic not in await admin.list_topics():
        new = NewTopic(plan.topic, plan.partitions or PARTITIONS, plan.replication_factor, configs=KEPT_FOREVER)
        await admin.create_topics([new])
        count = new.num_partitions
    else:
        count = len((await admin.describe_topics([plan.topic]))[plan.topic].partitions)
        if plan.partitions not in (None, count):
            raise CommandError(f"the topic {plan.topic} exists with {count} partitions, not {plan.partitions}")
    return [TopicPartition(plan.topic, number) for number in range(count)]


async def write_and_read(writer: VerifyWriter, reader: VerifyReader, progress: VerifyProgress) -> None:
    """Follows the topic while the records are written, then reads all again. The first Ctrl-C ends only the writing."""
    over, loop = asyncio.Event(), asyncio.get_running_loop()

    def interrupted() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        click.echo("stopped writing; reading what was written. Ctrl-C again ends without a result", err=True)
        writer.stop()

    with suppress(RuntimeError, ValueError):  # raised outside the main thread, which alone receives Ctrl-C
        loop.add_signal_handler(signal.SIGINT, interrupted)
    following = asyncio.create_task(reader.follow(over))
    following.add_done_callback(lambda _: writer.stop())
    showing = asyncio.create_task(progress.show())
    try:
        await writer.write()
        over.set()
        await following
        await reader.read_again()
    finally:
        following.cancel()
        showing.cancel()
        await asyncio.gather(following, showing, return_exceptions=True)


class VerifyProgress:
    """Prints a progress line on standard error every PROGRESS_S seconds."""

    def __init__(
        self, checker: Checker, writer: VerifyWriter, reader: VerifyReader, now_s: Callable[[], float]
    ) -> None:
        self._checker, self._writer, self._reader, self._now_s = checker, writer, reader, now_s
        self._start_s = now_s()

    async def show(self) -> None:
        """Prints until it is cancelled."""
        while True:
            await asyncio.sleep(PROGRESS_S)
            click.echo(self.line(), err=True)

    def line(self) -> str:
        """The progress line."""
        checker, writer, now_s = self._checker, self._writer, self._now_s()
        acknowledged = checker.of_fate(RecordFate.STORED)
        line = (
            f"{now_s - self._start_s:.0f} s: {checker.count:,} sent, {acknowledged:,} acknowledged, "
            f"{writer.unanswered:,} waiting, {self._reader.latencies.all.count:,} read"
        )
        quiet_s = now_s - writer.answered_s
        if not writer.unanswered or quiet_s < QUIET_S:
            return line
        trouble = writer.trouble or self._reader.trouble
        return f"{line}; no acknowledgement for {quiet_s:.0f} s{': ' + trouble if trouble else ''}"
