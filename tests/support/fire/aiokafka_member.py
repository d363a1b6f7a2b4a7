"""A member of the readers' group under fire with aiokafka: reads, commits what it has noted, restarts after an error.

    python -m support.fire.aiokafka_member SERVERS JOURNAL SPECIFICATION-AS-JSON

SIGTERM ends it cleanly. Its journal is that of ``support.fire.worker``.
"""

import asyncio
import contextlib
import json
import signal
import sys
from pathlib import Path

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import KafkaError

from support.fire.history import GROUP_READER, FireJournal
from support.fire.worker import (
    GIVEN_UP,
    POLL_INTERVAL_MS,
    POLL_S,
    READERS_GROUP,
    SESSION_TIMEOUT_MS,
    TOPIC,
    Specification,
)

CANCELLED_BY_ITSELF = "aiokafka 0.14 cancels a heartbeat that leaves the group, and raises it to the reader"
"""A known defect: it happens to a member that has not polled for ``max_poll_interval_ms`` while others rejoin."""


class Assigned(ConsumerRebalanceListener):  # type: ignore[misc]
    """Writes assignments into the journal."""

    def __init__(self, journal: FireJournal) -> None:
        self._journal = journal

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Commits nothing: what was not committed is read again."""

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """Notes the new positions."""
        self._journal.write("assigned", sorted(one.partition for one in assigned))


async def session(servers: str, journal: FireJournal, specification: Specification, leave: asyncio.Event) -> None:
    """Reads until the worker must leave. Raises KafkaError."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=servers,
        client_id=specification.client_id,
        group_id=READERS_GROUP,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        heartbeat_interval_ms=1000,
        max_poll_interval_ms=POLL_INTERVAL_MS,
        partition_assignment_strategy=[RangePartitionAssignor],
    )
    consumer.subscribe([TOPIC], listener=Assigned(journal))
    try:
        await consumer.start()
        journal.write("started", GROUP_READER, None)
        while not leave.is_set():
            found = await consumer.getmany(timeout_ms=int(POLL_S * 1000), max_records=200)
            records = [[one.partition, one.offset, int(one.value)] for some in found.values() for one in some]
            if not records:
                continue
            journal.write("poll", records)
            ends = {partition: some[-1].offset + 1 for partition, some in found.items() if some}
            await consumer.commit(ends)
            journal.write("offsets", READERS_GROUP, [[one.partition, end] for one, end in ends.items()])
    finally:
        await consumer.stop()


def is_cancelled() -> bool:
    """Whether the current task is to be cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def main() -> None:
    """The process."""
    servers, journal_path, text = sys.argv[1:]
    journal, specification, leave = FireJournal(Path(journal_path)), Specification(*json.loads(text)), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leave.set)
    while not leave.is_set():
        try:
            await session(servers, journal, specification, leave)
        except (KafkaError, asyncio.CancelledError) as error:
            if isinstance(error, KafkaError):
                journal.write("again", repr(error))
            elif is_cancelled():
                raise
            else:
                journal.write("again", f"{GIVEN_UP}: getmany ({CANCELLED_BY_ITSELF})")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await leave.wait()


if __name__ == "__main__":
    asyncio.run(main())
