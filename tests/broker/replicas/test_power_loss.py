"""Acknowledged records survive as the table of docs/durability.md says, through the broker's append path.

Several producers send at the same time. Before any operation of the disk, the test examines the disk as a crash would
leave it: after the death of the process everything written is there, after a power failure any part of the unsynced
data and file names is lost.
"""

import asyncio
import random
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.files import Buffer
from odradek.storage.log.log_config import LogConfig
from support.data.log_model import records_of
from support.disks.simulated_disk import SimulatedDisk
from support.disks.simulated_nodes import START_MS

from ..append_path import NOW, TOPIC, AppendPath, batch, only, turns

PARTITIONS = 2
REQUESTS = 24
MOMENTS = 12
"""The maximum number of crashes that are checked in one run."""
LARGE_BYTES = 400
"""Batches of this size count as large, and are written on a thread."""

Result = TypeVar("Result")


class SharedDisk(SimulatedDisk):
    """A simulated disk that several threads use: one operation at a time."""

    def __init__(self, root: Path, now_ms: int = START_MS) -> None:
        super().__init__(root, now_ms)
        self.lock_of_all = threading.RLock()

    def _alone(self, operation: Callable[[], Result]) -> Result:
        with self.lock_of_all:
            return operation()

    def write(self, descriptor: int, parts: Sequence[Buffer], position: int) -> int:
        return self._alone(lambda: SimulatedDisk.write(self, descriptor, parts, position))

    def read(self, descriptor: int, size: int, position: int) -> bytes:
        return self._alone(lambda: SimulatedDisk.read(self, descriptor, size, position))

    def truncate(self, descriptor: int, size: int) -> None:
        self._alone(lambda: SimulatedDisk.truncate(self, descriptor, size))

    def sync(self, descriptor: int) -> None:
        self._alone(lambda: SimulatedDisk.sync(self, descriptor))

    def sync_directory(self, path: Path) -> None:
        self._alone(lambda: SimulatedDisk.sync_directory(self, path))

    def rename(self, source: Path, target: Path) -> None:
        self._alone(lambda: SimulatedDisk.rename(self, source, target))

    def remove(self, path: Path) -> None:
        self._alone(lambda: SimulatedDisk.remove(self, path))

    def open(self, path: Path, flags: int = 0) -> int:
        return self._alone(lambda: SimulatedDisk.open(self, path, flags))

    def close(self, descriptor: int) -> None:
        self._alone(lambda: SimulatedDisk.close(self, descriptor))


class Moment(NamedTuple):
    """The disk after a crash at one moment, and the acknowledged records of each partition at that moment."""

    disk: SimulatedDisk
    has_power: bool
    answered: list[dict[int, bytes]]  # offset -> value
    answered_all: list[dict[int, bytes]]  # the same for acks=all
    seen: list[int]  # the end offset for consumers


class Load:
    """Producers on an append path over a simulated disk, and the moments that were checked."""

    def __init__(self, directory: Path, config: LogConfig, seed: int) -> None:
        self.chance = random.Random(seed)
        self.directory = directory
        self.disk = SharedDisk(directory / "broker")
        (directory / "broker").mkdir(parents=True)
        self.config = config
        self.path: AppendPath | None = None
        self.answered: list[dict[int, bytes]] = [{} for _ in range(PARTITIONS)]
        self.answered_all: list[dict[int, bytes]] = [{} for _ in range(PARTITIONS)]
        self.moments: list[Moment] = []

    def look(self, *_: object) -> None:
        """Called before an operation of the disk, on any thread."""
        if self.path is None or len(self.moments) == MOMENTS or self.chance.random() > 0.15:
            return
        with self.disk.lock_of_all:
            seen = [self.path.log(index).high_watermark for index in range(PARTITIONS)]
            has_power = self.chance.random() < 0.3
            root = self.directory / f"image-{len(self.moments)}"
            root.mkdir()
            image = self.disk.survivors(root, self.chance, has_power=has_power)
            answers = [dict(answered) for answered in self.answered], [dict(all_) for all_ in self.answered_all]
            self.moments.append(Moment(image, has_power, *answers, seen))

    async def run(self) -> None:
        self.path = AppendPath(
            self.directory / "broker", self.config, partitions=PARTITIONS, files=self.disk, large_bytes=LARGE_BYTES
        )
        self.disk.before = self.look
        await asyncio.gather(*(self.producer(number) for number in range(3)))
        self.disk.before = None
        await self.path.lose_power()

    async def producer(self, number: int) -> None:
        assert self.path is not None
        for request in range(REQUESTS // 3):
            index = self.chance.randrange(PARTITIONS)
            acks = self.chance.choice([-1, -1, 1])
            size = self.chance.choice([1, 50, LARGE_BYTES])
            value = b"%d/%d:" % (number, request) + b"." * size
            answer = only(await self.path.produce({index: batch(value)}, acks=acks))
            assert answer.error_code == ErrorCode.NONE
            self.answered[index][answer.base_offset] = value
            if acks == -1:
                self.answered_all[index][answer.base_offset] = value
            await turns(self.chance.randrange(4))
            if self.chance.random() < 0.1:
                self.path.group_commit.request(self.path.log(index), with_indexes=True)
                self.path.directory.write_checkpoints()


def recovered(moment: Moment, config: LogConfig) -> list[dict[int, bytes | None]]:
    """The records that the next start finds in each partition: offset -> value."""
    directory = LogDirectory.open(moment.disk.root, moment.disk)
    logs = directory.load_logs(lambda _: config, NOW)
    found: list[dict[int, bytes | None]] = []
    for index in range(PARTITIONS):
        values: dict[int, bytes | None] = {}
        log = logs.get((TOPIC, index))
        offset = 0 if log is None else log.log_start_offset
        # An earlier unsynced segment may have lost its end: docs/durability.md, "A hole".
        while log is not None and offset < log.log_end_offset:
            records = records_of(log.read(offset, 1 << 20).data)
            if not records:
                break
            values |= {record.offset: record.value for record in records}
            offset = records[-1].offset + 1
        found.append(values)
    directory.abort()
    return found


def losses(load: Load) -> tuple[int, int, int]:
    """The most records that a crash has lost: (of acks=all, of any acks, visible to consumers).

    Asserts the guarantees of every configuration.
    """
    lost_all = lost_any = lost_seen = 0
    for moment in load.moments:
        for index, found in enumerate(recovered(moment, load.config)):
            answered = moment.answered[index]
            for offset, value in answered.items():
                assert found.get(offset, value) == value, "another record stands at an acknowledged offset"
            missing = [offset for offset in answered if offset not in found]
            unseen = [offset for offset in range(moment.seen[index]) if offset not in found]
            if moment.has_power:
                assert not missing, "the process died, not the machine"
                assert not unseen
            lost_any = max(lost_any, len(missing))
            lost_all = max(lost_all, sum(offset in moment.answered_all[index] for offset in missing))
            lost_seen = max(lost_seen, len(unseen))
    return lost_all, lost_any, lost_seen


async def most_lost(directory: Path, config: LogConfig, seeds: range) -> tuple[int, int, int]:
    most = (0, 0, 0)
    for seed in seeds:
        load = Load(directory / str(seed), config, seed)
        await load.run()
        assert load.moments
        found = losses(load)
        most = max(most[0], found[0]), max(most[1], found[1]), max(most[2], found[2])
    return most


@pytest.mark.parametrize("segment_bytes", [700, 1 << 30])
async def test_acks_all_fsync_loses_nothing_that_acks_all_was_told_or_that_was_seen(
    tmp_path: Path, segment_bytes: int
) -> None:
    config = LogConfig(acks_all_fsync=True, segment_bytes=segment_bytes)
    lost_all, lost_any, lost_seen = await most_lost(tmp_path, config, range(5))
    assert (lost_all, lost_seen) == (0, 0)
    assert lost_any > 0, "acks=1 promises nothing: a test that finds no loss there looks at nothing"


@pytest.mark.parametrize(("flush_messages", "segment_bytes"), [(1, 700), (3, 1 << 30)])
async def test_flush_messages_loses_fewer_records_than_it_says(
    tmp_path: Path, flush_messages: int, segment_bytes: int
) -> None:
    config = LogConfig(flush_messages=flush_messages, segment_bytes=segment_bytes)
    _, lost_any, lost_seen = await most_lost(tmp_path, config, range(5))
    assert lost_any < flush_messages
    assert lost_seen < flush_messages
    assert flush_messages == 1 or lost_any > 0


async def test_the_default_loses_what_was_not_synced(tmp_path: Path) -> None:
    """With the default settings a power failure loses unsynced records; a killed process loses none (``losses``)."""
    lost_all, _, lost_seen = await most_lost(tmp_path, LogConfig(), range(3))
    assert lost_all > 0
    assert lost_seen > 0
