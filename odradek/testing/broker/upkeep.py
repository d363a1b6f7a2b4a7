"""Runs retention and compaction at once when a test asks for them, not at the broker's next interval.

Owns: the order of the steps. Never does: deciding what is removed. The broker's own retention and log cleaner decide,
by topic configs and clock. Invariant: everything runs on the broker's event loop.
"""

import asyncio
from collections.abc import Iterator

from odradek.broker.replicas.partition import Partition
from odradek.broker.server.broker_server import BrokerServer
from odradek.protocol.errors import ErrorCode, KafkaError


async def apply_retention(server: BrokerServer) -> None:
    """Deletes the segments that exceed ``retention.ms`` or ``retention.bytes``, in all topics with the cleanup policy
    ``delete`` or ``compact,delete``.
    """
    background = server.running.background
    await background.apply_retention()
    cleaner = background.start_cleaner()
    if cleaner is not None:
        await cleaner.delete_old_segments()


async def compact(server: BrokerServer, topic: str | None, clock_ms: int) -> None:
    """Compacts the partitions of a topic up to the log end; None: of all compacted topics except internal ones.

    ``clock_ms``: the broker's time, in ms since the epoch. Raises ValueError for a topic that is not compacted, and if
    ``log.cleaner.enable`` is false; KafkaError: UNKNOWN_TOPIC_OR_PARTITION; RuntimeError, with the reason, if a
    partition can't be cleaned.
    """
    cleaner = server.running.background.start_cleaner()
    if cleaner is None:
        raise ValueError("log.cleaner.enable is false, so nothing is ever compacted")
    for name, partition in _compacted(server, topic):
        key = name, partition.index
        await _rolled(partition, clock_ms)
        await _synced(server, partition)
        await cleaner.clean_now(key)
        refusal = cleaner.state.uncleanable.get(key)
        if refusal is not None:
            raise RuntimeError(f"{name}-{partition.index} can't be cleaned: {refusal.reason}")


def _compacted(server: BrokerServer, topic: str | None) -> Iterator[tuple[str, Partition]]:
    partitions = server.broker.partitions
    if topic is not None and topic not in partitions.topics():
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"the topic {topic!r} does not exist")
    own = [name for name in partitions.topics() if not name.startswith("__")]
    for name in own if topic is None else [topic]:
        for _, partition in sorted(partitions.of_topic(name).items()):
            if partition.log.config.is_compacted:
                yield name, partition
            elif topic is not None:
                raise ValueError(f"{topic} has no cleanup.policy=compact")


async def _rolled(partition: Partition, clock_ms: int) -> None:
    """Returns when the log has a new active segment. The cleaner never cleans the active one."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def roll() -> None:
        partition.log.roll(clock_ms)
        done.set_result(None)

    partition.between_appends(roll)
    await done


async def _synced(server: BrokerServer, partition: Partition) -> None:
    """Returns when the log is synced to disk. The cleaner does not clean records that are not."""
    done: asyncio.Future[KafkaError | None] = asyncio.get_running_loop().create_future()
    log = partition.log
    server.running.parts.group_commit.when_synced(log, log.log_end_offset, done.set_result)
    failure = await done
    if failure is not None:
        raise failure
