"""Log directories for tests that damage one thing, which an audit must find.

    directory = AuditedDirectory(tmp_path, {"cleanup.policy": "compact"})
    batches = directory.batches()            # of the closed segment, as bytes
    stamp(batches[3], 35, ">q", 7)           # a header field, with a new CRC
    directory.write_batches(batches)

Topic `t` of one partition has a long closed segment, a short closed one and an active one. The metadata log has the
topic and its configs. Everything is as after a clean stop of a broker at NOW_MS.
"""

import base64
import functools
import os
import random
import struct
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from odradek.protocol.internal_records.metadata_serde import encode_record
from odradek.protocol.messages.metadata_records import ConfigRecord, PartitionRecord, TopicRecord
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.batch import ATTRIBUTES_POSITION, CRC_POSITION, BatchHeader, iterate_headers
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.checksum import crc32c
from odradek.storage.files.checkpoints import write_offset_checkpoint
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import MetaProperties, write_meta_properties, write_partition_metadata
from support.data.log_histories import HISTORY_START_MS, HistoryWriter

TOPIC_ID = bytes(range(16, 32))
DIRECTORY_ID = bytes(range(32, 48))
NODE_ID = 1
NOW_MS = HISTORY_START_MS + 2_000_000
RECOVERY, HIGH_WATERMARK, LOG_START, CLEANER = (
    f"{name}-checkpoint"
    for name in ("recovery-point-offset", "replication-offset", "log-start-offset", "cleaner-offset")
)
STEPS = 500


def stamp(batch: bytearray, position: int, layout: str, value: int) -> None:
    """Writes one field of a batch's header and the CRC that goes with it."""
    struct.pack_into(layout, batch, position, value)
    struct.pack_into(">I", batch, CRC_POSITION, crc32c(bytes(batch[ATTRIBUTES_POSITION:])))


def header_of(batch: bytes | bytearray) -> BatchHeader:
    """The header of a batch."""
    return next(iterate_headers(bytes(batch)))[1]


@functools.cache
def history_files(seed: int) -> tuple[dict[str, bytes], int]:
    """(the files of a partition by name, its log end offset); written once for all tests."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "t-0"
        writer = HistoryWriter(random.Random(seed), path, keys=500, is_rolling=False, with_null_keys=False)
        for steps in (STEPS, 30):
            writer.write(steps)
            writer.roll()
        writer.write(10)
        end = writer.log.log_end_offset
        writer.close()
        return {file.name: file.read_bytes() for file in path.iterdir()}, end


class AuditedDirectory:
    """See the module. `root` is the log directory, `partition` the partition's."""

    def __init__(
        self, root: Path, configs: Mapping[str, str] | None = None, *, seed: int = 5, partitions: Sequence[int] = (0,)
    ) -> None:
        self.root = root
        self.partition = root / "t-0"
        self.ends: dict[tuple[str, int], int] = {}
        root.mkdir(parents=True, exist_ok=True)
        for partition in partitions:
            self._write_partition(partition, seed)
        meta = MetaProperties(base64.urlsafe_b64encode(bytes(16)).decode()[:22], NODE_ID, DIRECTORY_ID)
        write_meta_properties(Files(), root, meta)
        for name in (RECOVERY, HIGH_WATERMARK):
            write_offset_checkpoint(Files(), root / name, self.ends)
        (root / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
        self.write_metadata(configs or {}, partitions)
        self.set_times(NOW_MS)

    def _write_partition(self, partition: int, seed: int) -> None:
        files, self.ends["t", partition] = history_files(seed)
        path = self.root / f"t-{partition}"
        path.mkdir()
        for name, data in files.items():
            (path / name).write_bytes(data)
        write_partition_metadata(Files(), path, TOPIC_ID)

    def write_metadata(
        self,
        configs: Mapping[str, str],
        partitions: Sequence[int] = (0,),
        *,
        brokers: Sequence[int] = (NODE_ID,),
        directory_id: bytes = DIRECTORY_ID,
    ) -> None:
        """The metadata log: the topic, its partitions and configs."""
        messages: list[Message] = [TopicRecord("t", TOPIC_ID)]
        for partition in partitions:
            record = PartitionRecord(partition, TOPIC_ID, replicas=list(brokers), isr=list(brokers))
            record.directories = [directory_id] * len(brokers)
            messages.append(record)
        messages += [ConfigRecord(2, "t", key, value) for key, value in configs.items()]
        builder = BatchBuilder()
        for message in messages:
            builder.append(NOW_MS, None, encode_record(message, 1 if isinstance(message, PartitionRecord) else 0))
        path = self.root / "__cluster_metadata-0"
        path.mkdir(exist_ok=True)
        (path / f"{0:020d}.log").write_bytes(builder.build())

    def write_metadata_of(self, topic_id: bytes, name: str = "t") -> None:
        """A metadata log of a topic with another id, of one partition and without configs."""
        record = PartitionRecord(0, topic_id, replicas=[NODE_ID], isr=[NODE_ID])
        record.directories = [DIRECTORY_ID]
        builder = BatchBuilder()
        builder.append(NOW_MS, None, encode_record(TopicRecord(name, topic_id), 0))
        builder.append(NOW_MS, None, encode_record(record, 1))
        (self.root / "__cluster_metadata-0" / f"{0:020d}.log").write_bytes(builder.build())

    def set_times(self, now_ms: int) -> None:
        """Sets the modification time of every file."""
        for path in self.root.rglob("*"):
            os.utime(path, (now_ms / 1000, now_ms / 1000))

    # Files -------------------------------------------------------------------

    def segment(self, number: int = 0, suffix: str = ".log") -> Path:
        """A file of a segment: 0 the long closed one, 1 the short closed one, 2 the active one."""
        log = sorted(self.partition.glob("*.log"))[number]
        return log.with_suffix(suffix)

    def batches(self, number: int = 0) -> list[bytearray]:
        """The batches of a segment."""
        data = self.segment(number).read_bytes()
        return [bytearray(data[at : at + header.size_in_bytes]) for at, header in iterate_headers(data)]

    def write_batches(self, batches: Sequence[bytes | bytearray], number: int = 0) -> None:
        """Replaces the batches of a segment; its indexes stay as they are."""
        self.segment(number).write_bytes(b"".join(batches))

    def places(self, number: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """(position, header) of each batch of a segment."""
        return iterate_headers(self.segment(number).read_bytes())

    def find(self, number: int = 0, *, after: int = 0, **fields: int) -> tuple[int, int, BatchHeader]:
        """(index, position, header) of the first batch after `after` whose header has these values."""
        for index, (position, header) in enumerate(self.places(number)):
            if index >= after and all(getattr(header, name) == value for name, value in fields.items()):
                return index, position, header
        raise AssertionError(f"no batch with {fields}")

    def checkpoint(self, name: str, offset: int) -> Path:
        """Writes one offset checkpoint."""
        write_offset_checkpoint(Files(), self.root / name, {("t", 0): offset})
        return self.root / name
