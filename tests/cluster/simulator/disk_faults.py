"""The faults of the disks of a broker: one that fills up, one that fails, one that is lost.

Owns: the faults of a disk, and their times. Never does: choosing the broker. Invariants: afterwards every disk works
and has space, and the broker runs; a disk is lost only while other replicas have all its records, because a partition
without another replica in sync would lose acknowledged records, also in Kafka.
"""

import asyncio
import errno
import logging
import random
from collections.abc import Awaitable, Callable, Sequence

from cluster.simulator.broker_disk import TOTAL_BYTES
from cluster.simulator.history import ViolationError
from cluster.simulator.loop import pass_time
from cluster.simulator.nodes import BrokerNode, ControllerNode
from odradek.broker.metadata.controller.elections import electable
from odradek.broker.metadata.image.image import DIRECTORY_LOST

logger = logging.getLogger(__name__)

MARK_BYTES = TOTAL_BYTES // 16
"""The free space below which the broker refuses clients' records."""
START_PATIENCE_S = 3.0
STOP_PATIENCE_S = 20.0

HANDS_OVER_WITHIN_S = 2.0
"""The time after which a full broker leads nothing that others can lead, if no other fault is in progress."""

Start = Callable[[BrokerNode], Awaitable[None]]
"""Starts a broker, and waits until it serves."""


class DiskFaults:
    """One fault at a time for each broker."""

    def __init__(
        self,
        controller: ControllerNode,
        chance: random.Random,
        some_s: Callable[[], float],
        start: Start,
        *,
        is_only_kind: bool,
    ) -> None:
        """``is_only_kind``: no other faults are injected than full disks."""
        self.handed_over = 0
        """How often a partition was seen handed over."""
        self._is_only_kind = is_only_kind
        self._controller = controller
        self._chance = chance
        self._some_s = some_s
        self._start = start

    # A full disk -------------------------------------------------------------

    async def fill_up(self, broker: BrokerNode) -> None:
        """Fills one or both disks for a while. Sometimes the broker is killed and started during that."""
        chance = self._chance
        room = chance.choice((0, chance.randrange(300), chance.randrange(20_000), chance.randrange(MARK_BYTES)))
        uses_reserve_up = chance.random() < 0.4
        chosen = chance.choice(((0,), (1,), (0, 1)))
        seconds = self._some_s()
        logger.info(
            "fault: disks %s of %s have %d bytes left (%s the reserve) for %.1f s",
            chosen,
            broker,
            room,
            "without" if uses_reserve_up else "with",
            seconds,
        )
        for number in chosen:
            broker.disks[number].fill_up(room)
            if uses_reserve_up:
                broker.disks[number].use_up_reserve()
        await pass_time(seconds)
        if seconds > HANDS_OVER_WITHIN_S:
            self._look_whether_handed_over(broker, chosen)
        if chance.random() < 0.3:
            await self._restart_full(broker, chosen)
        for disk in broker.disks:
            disk.empty()
        logger.info("%s has room again", broker)
        if not broker.is_up:
            await self._start(broker)

    def _look_whether_handed_over(self, broker: BrokerNode, full: Sequence[int]) -> None:
        """Counts what it has handed over. Raises ViolationError if it still leads what others could lead, and this is
        the only kind of fault."""
        image = self._controller.image
        full_ids = {broker.directory_id(number) for number in full}
        for topic in image.topics_by_id.values():
            for index, partition in topic.partitions.items():
                if broker.node_id not in partition.replicas:
                    continue
                directory_id = partition.directory_of(broker.node_id)
                self.handed_over += directory_id == DIRECTORY_LOST
                others = [one for one in partition.isr if one != broker.node_id and electable(image, partition, one)]
                if self._is_only_kind and partition.leader == broker.node_id and directory_id in full_ids and others:
                    raise ViolationError(f"(10) {topic.name}-{index}: {broker} is full, and leads; {others} could")

    async def _restart_full(self, broker: BrokerNode, full: Sequence[int]) -> None:
        """Kills it, and starts it on the full disk. It serves if there is a reserve; otherwise it may refuse with the
        reason.
        """
        has_reserve = all(broker.disks[number].reserved_bytes for number in full)
        logger.info("fault: %s is killed, and starts on a full disk", broker)
        broker.kill()
        await pass_time(self._some_s() / 4)
        started = broker.start()
        await asyncio.wait([started], timeout=None if has_reserve else START_PATIENCE_S)
        if started.done() and not started.cancelled() and started.exception() is None:
            await pass_time(self._some_s() / 4)
            return
        if has_reserve:
            started.result()
        logger.info("%s has not started on a full disk: %r", broker, started.exception() if started.done() else None)
        broker.kill()

    # A broken disk -----------------------------------------------------------

    async def fail(self, broker: BrokerNode) -> None:
        """Makes every operation on a disk fail, or only syncs. The broker is started again once the disk works.

        ENOSPC of a sync, as from network file systems, is not a full disk: earlier writes may be lost.
        """
        number = self._chance.randrange(2)
        disk = broker.disks[number]
        disk.sync_error = self._chance.choice((0, 0, 0, errno.EIO, errno.ENOSPC))
        disk.is_broken = not disk.sync_error
        logger.info("fault: disk %d of %s fails (sync: %d)", number, broker, disk.sync_error)
        broker.may_end = number == 0
        await pass_time(self._some_s())
        if disk.sync_error and not broker.has_ended:
            logger.info("%s is stopped, with all syncs that this needs", broker)
            stopping = broker.stop_cleanly()
            done, _ = await asyncio.wait([stopping], timeout=STOP_PATIENCE_S)
            if done:
                stopping.result()
        logger.info("%s is killed, and its disk works again", broker)
        broker.kill()
        for disk in broker.disks:
            disk.is_broken, disk.sync_error = False, 0
        broker.may_end = False
        await pass_time(self._some_s() / 4)
        await self._start(broker)

    async def lose(self, broker: BrokerNode) -> None:
        """Makes a disk fail and replaces it by an empty one, after others have taken over its partitions.

        Call it only while all replicas are in sync and no other fault is in progress. The broker stays down.
        """
        disk = broker.disks[1]
        names = disk.names()
        logger.info("fault: disk 1 of %s fails and is lost, with %s", broker, ", ".join(names))
        disk.is_broken = True
        while holders := self._in_sync(broker, names):
            await pass_time(0.1)
            if holders == {broker.node_id}:
                break
        broker.kill()
        if holders:
            logger.info("%s alone is in sync: its disk is not lost", broker)
            disk.is_broken = False
        else:
            broker.lose_second_disk()
        await pass_time(self._some_s() / 4)

    def _in_sync(self, broker: BrokerNode, names: Sequence[str]) -> set[int]:
        """The smallest ISR with this broker among these partitions; empty if there is none."""
        found: set[int] = set()
        for topic in self._controller.image.topics_by_name.values():
            for index, partition in topic.partitions.items():
                isr = set(partition.isr)
                is_smaller = not found or len(isr) < len(found)
                if f"{topic.name}-{index}" in names and broker.node_id in isr and is_smaller:
                    found = isr
        return found
