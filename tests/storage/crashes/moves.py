"""Crashes while replicas move between two log directories, together with everything else that ``CrashRun`` does.

``MoveRun(directory, seed).run()`` is one history, crashed at every write point; ``only=K`` checks write point K only.
The broker's metadata is an object here that changes in one step, because it is synced before a move continues. A crash
therefore leaves it as before or as after that step. The steps of a move are those of ``ReplicaMoves``
(broker/replicas/moves.py).
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.directory.replica_move import ReplicaMove
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.disks.simulated_disk import SimulatedDisk

from .cleaning import Key
from .history import SHORT_LIVED
from .run import CLUSTER_ID, CrashRun

NAMES = ("a", "b")


class TwoDirectories:
    """Two log directories of one broker, with the methods of ``LogDirectory`` that a history uses."""

    def __init__(self, directories: LogDirectories, assigned: dict[Key, bytes]) -> None:
        self.directories = directories
        self.assigned = assigned
        """The directory id of each partition in the metadata."""
        self.was_clean = all(directory.was_clean for directory in directories.online)

    @classmethod
    def start(
        cls,
        disk: SimulatedDisk,
        config_for: Callable[[str], LogConfig],
        now_ms: int,
        assigned: dict[Key, bytes],
        chance: random.Random,
    ) -> "TwoDirectories":
        """Opens, ends interrupted moves and recovers, as the broker does."""
        directories = LogDirectories([disk.root / name for name in NAMES], disk.root / NAMES[0])
        try:
            for index, path in enumerate(directories.paths):
                directory = LogDirectory.open(path, disk, chance=random.Random(chance.getrandbits(32)))
                directories.online.append(directory)
                if directory.meta is None:
                    directory.format(CLUSTER_ID, 1, directory_id(index))
            directories.find_logs(now_ms, lambda *found: False)
            directories.promote_futures(lambda topic, index: assigned.get((topic, index)), now_ms)
            for directory in directories.online:
                directory.open_found(config_for, now_ms)
            assert not directories.offline, directories.offline
        except BaseException:
            directories.abort()
            raise
        return cls(directories, assigned)

    @property
    def logs(self) -> dict[Key, Log]:
        """The logs that are served."""
        return {key: log for directory in self.directories.online for key, log in directory.logs.items()}

    def holder(self, key: Key) -> LogDirectory:
        """The log directory of a partition."""
        holder = self.directories.holder(*key)
        assert holder is not None
        return holder

    def open_log(self, topic: str, partition: int, config: LogConfig, now_ms: int, topic_id: bytes) -> Log:
        """Creates a partition in the directory that the metadata names, or in the one with the fewest partitions."""
        directory = self.directories.next_directory()
        named = self.assigned.get((topic, partition))
        directory = next((one for one in self.directories.online if one.directory_id == named), directory)
        self.assigned[topic, partition] = directory.directory_id
        return directory.open_log(topic, partition, config, now_ms, topic_id)

    def delete_log(self, topic: str, partition: int, now_ms: int) -> None:
        """Removes a partition."""
        self.holder((topic, partition)).delete_log(topic, partition, now_ms)
        self.assigned.pop((topic, partition), None)

    def truncate_log(self, topic: str, partition: int, offset: int) -> None:
        """Truncates a log as ``LogDirectory.truncate_log`` does."""
        self.holder((topic, partition)).truncate_log(topic, partition, offset)

    def flush(self, now_ms: int) -> None:
        """Flushes each directory."""
        for directory in self.directories.online:
            directory.flusher.flush(list(directory.logs.values()), now_ms)

    def write_checkpoints(self) -> None:
        """Writes the checkpoints of each directory."""
        for directory in self.directories.online:
            directory.write_checkpoints()

    def remove_deleted(self, now_ms: int) -> None:
        """Removes deleted files in each directory."""
        for directory in self.directories.online:
            directory.remove_deleted(now_ms)

    def close(self, broker_epoch: int) -> None:
        """A clean stop, one directory after the other."""
        for directory in self.directories.online:
            directory.close(broker_epoch)

    def abort(self) -> None:
        """Releases everything as a crash would."""
        self.directories.abort()


def directory_id(index: int) -> bytes:
    """The id of the first or the second directory."""
    return bytes(15) + bytes([100 + index])


class MoveRun(CrashRun):
    """A history in which partitions move. ``moved``: the number of completed moves."""

    directory: Any  # TwoDirectories

    def __init__(self, directory: Path, seed: int, **options: Any) -> None:
        self.assigned: dict[Key, bytes] = {}
        self.moves: dict[Key, ReplicaMove] = {}
        self.moved = 0
        super().__init__(directory, seed, **options)

    def _flush_logs(self) -> None:
        self.directory.flush(self.now_ms)

    def _start(self, disk: SimulatedDisk) -> Any:
        # A start on a copy of the disk must not change the metadata of the history.
        assigned = self.assigned if disk is self.disk else dict(self.assigned)
        chance = random.Random(f"{self.seed}/{disk.operations}")
        started = TwoDirectories.start(disk, lambda topic: self.configs[topic], self.now_ms, assigned, chance)
        if disk is self.disk:
            self._resume(started)
        return started

    def _resume(self, started: TwoDirectories) -> None:
        """Continues moves, as the broker does before it serves."""
        for key in started.logs:
            self.assigned[key] = started.holder(key).directory_id
        self.moves = {}
        for target in started.directories.online:
            for key in list(target.found_futures):
                source = started.directories.holder(*key)
                if source is not None:
                    config = self.configs[key[0]]
                    self.moves[key] = ReplicaMove.begin(key, source, target, config, self.now_ms)

    def _weighted_steps(self) -> list[tuple[Callable[[], None], int]]:
        return [*super()._weighted_steps(), (self.move, 14), (self.give_up, 1)]

    def move(self) -> None:
        """Runs the next step of a move, or the first of a new one; sometimes all remaining steps."""
        key = self.chance.choice(sorted(self.moves) or sorted(self.directory.logs))
        if key not in self.moves:
            source = self.directory.holder(key)
            target = next(one for one in self.directory.directories.online if one is not source)
            self.moves[key] = ReplicaMove.begin(key, source, target, self.configs[key[0]], self.now_ms)
            return
        goes_through = self.chance.random() < 0.5
        while self._copy_something(self.moves[key]):
            if not goes_through:
                return
        self._exchange(key)

    def _copy_something(self, move: ReplicaMove) -> bool:
        """Copies a chunk or syncs. Returns False if neither is needed, or if the last step may copy the rest."""
        chunk = move.next_chunk() if self.chance.random() < 0.8 else None
        if chunk is not None:
            move.append(chunk, self.now_ms)
            return True
        if move.future.offsets.unflushed_records:
            flushes = move.target.flusher.prepare([move.future])
            move.target.flusher.sync(flushes)
            move.target.flusher.complete(flushes, self.now_ms)
            return self.chance.random() < 0.5
        return False

    def _exchange(self, key: Key) -> None:
        move = self.moves[key]
        move.catch_up(self.now_ms)
        self.assigned[key] = move.target.directory_id
        new = move.exchange(self.now_ms)
        new.assign_epoch(self.epoch)
        del self.moves[key]
        self.moved += 1

    def give_up(self) -> None:
        """Cancels a move."""
        if self.moves:
            self.moves.pop(self.chance.choice(sorted(self.moves))).cancel(self.now_ms)

    def truncate(self) -> None:
        """Does nothing: only followers are truncated, and in this history they do not move."""

    def recreate(self) -> None:
        """Deletes the topic, which ends its move, and creates another one of that name."""
        move = self.moves.pop(SHORT_LIVED, None)
        if move is not None:
            move.cancel(self.now_ms)
        super().recreate()

    def _holder(self, key: Key) -> LogDirectory:
        held: LogDirectory = self.directory.holder(key)
        return held
