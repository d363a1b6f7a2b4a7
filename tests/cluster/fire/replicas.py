"""The logs of replicas, compared batch by batch, during a run and after it.

A batch is identified by partition, leader epoch and base offset. Only the leader of an epoch appends in it, so two
batches with the same three and another CRC mean that two brokers appended in one epoch.
"""

from collections.abc import Mapping
from pathlib import Path

from cluster.metadata_history import METADATA
from odradek.protocol.records.batch import iterate_headers
from support.eventually import eventually
from support.fire.history import Place


def partitions(log_dir: Path) -> set[str]:
    """The directories of partitions, ``topic-index``, without the metadata log and deleted ones."""
    return {
        path.name
        for path in log_dir.iterdir()
        if path.is_dir() and path.name != METADATA and not path.name.endswith(("-delete", "-stray", "-future"))
    }


def log_bytes(log_dir: Path, partition: str) -> bytes:
    """The concatenated segments of a partition."""
    return b"".join(path.read_bytes() for path in sorted((log_dir / partition).glob("*.log")))


def writers_of(log_dir: Path, topic: str) -> dict[Place, tuple[int, int]]:
    """Producer id and producer epoch of each record of a topic, in the logs of a broker that has all of them."""
    found: dict[Place, tuple[int, int]] = {}
    for partition in partitions(log_dir):
        name, _, index = partition.rpartition("-")
        if name != topic:
            continue
        for _, header in iterate_headers(log_bytes(log_dir, partition)):
            writer = header.producer_id, header.producer_epoch
            for offset in range(header.base_offset, header.base_offset + header.last_offset_delta + 1):
                found[Place(int(index), offset)] = writer
    return found


class Replicas:
    """The batches that were found in the logs of any broker."""

    def __init__(self) -> None:
        self.two_appenders: list[str] = []
        """The places at which two brokers appended in one epoch."""
        self._crcs: dict[tuple[str, int, int], tuple[int, int]] = {}

    def note(self, node_id: int, log_dir: Path) -> None:
        """Adds the batches of a broker that does not write any more."""
        for partition in sorted(partitions(log_dir)):
            for _, header in iterate_headers(log_bytes(log_dir, partition)):
                key = partition, header.partition_leader_epoch, header.base_offset
                crc, first = self._crcs.setdefault(key, (header.crc, node_id))
                if crc != header.crc:
                    self.two_appenders.append(f"{key} at brokers {first} and {node_id}")


def until_equal(log_dirs: Mapping[int, Path], patience_s: float) -> None:
    """Waits until the replicas of every partition have the same bytes (node id -> its log directory). Writes must have
    ended, so that everything is below the high watermark."""

    def different() -> list[str]:
        found = []
        for partition in sorted(set().union(*map(partitions, log_dirs.values()))):
            logs = {
                node_id: log_bytes(log_dir, partition)
                for node_id, log_dir in log_dirs.items()
                if (log_dir / partition).is_dir()
            }
            if len(set(logs.values())) > 1:
                found.append(f"{partition}: " + ", ".join(f"{node_id} {len(log)}" for node_id, log in logs.items()))
        return found

    eventually(lambda: f"equal logs: {different()}", lambda: not different(), patience_s=patience_s, every_s=0.3)
