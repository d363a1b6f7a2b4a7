"""The data set of the pipeline's bench: log directories as a broker leaves them, written within seconds.

Every batch is one template (16 KiB, as the producer's default `batch.size` makes them) with other keys and values, put
in by numpy, and goes through the project's own log, so that segments, indexes and checkpoints are a broker's.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy
from numpy.typing import NDArray

from odradek.protocol.records.batch import BATCH_HEADER_SIZE, HEADER
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.checksum import crc32c
from odradek.protocol.records.compression import CompressionType, compress
from odradek.protocol.records.record import Record
from odradek.storage.files.checkpoints import write_offset_checkpoint
from odradek.storage.files.descriptors import DescriptorCache
from odradek.storage.files.files import Files
from odradek.storage.log.log import AppendOrigin, Log
from odradek.storage.log.log_config import LogConfig
from support.disks.unsynced_files import UnsyncedFiles

KEY_SIZE = 12
START_MS = 1_780_000_000_000
BATCH_BYTES = 16 << 10
SEGMENT_BYTES = 128 << 20
GROUP = 256
"""Batches that are made at once."""
Int64s = NDArray[numpy.int64]
CODECS = {"none": CompressionType.NONE, "lz4": CompressionType.LZ4}


@dataclass(frozen=True)
class Topic:
    """One topic of the data set, with one partition, in a log directory of its own."""

    name: str
    directory: Path
    records: int
    value_size: int

    @property
    def segments(self) -> list[Path]:
        """The `.log` files, by rising base offset."""
        return sorted((self.directory / f"{self.name}-0").glob("*.log"))

    @property
    def bytes(self) -> int:
        """Bytes of the log, without indexes."""
        return sum(path.stat().st_size for path in self.segments)


@dataclass(frozen=True)
class DataSet:
    """The topics by name: ``none`` and ``lz4`` of 100 B records, ``large`` of 1 KiB records, not compressed."""

    topics: dict[str, Topic]


def build(directory: Path, scale: float = 1.0) -> DataSet:
    """4 M records of 100 B without compression and with lz4, 400,000 of 1 KiB; times `scale`."""
    plans = (("none", "none", 4_000_000, 100), ("lz4", "lz4", 4_000_000, 100), ("large", "none", 400_000, 1024))
    topics = {}
    for name, codec, records, size in plans:
        topic = Topic(name, directory / name, int(records * scale), size - KEY_SIZE)
        write_topic(topic, CODECS[codec], distinct_keys=max(topic.records // 4, 1))
        topics[name] = topic
    return DataSet(topics)


def write_topic(topic: Topic, codec: CompressionType, distinct_keys: int) -> None:
    """Writes the topic's log directory. Values are letters of 16, so that they shrink to about half."""
    random = numpy.random.default_rng(11)
    count = max(BATCH_BYTES // (KEY_SIZE + topic.value_size + 10), 1)
    deltas = [Record(i, START_MS + i, bytes(KEY_SIZE), bytes(topic.value_size), []) for i in range(count)]
    template = numpy.frombuffer(encode_batch(deltas), dtype=numpy.uint8)
    key_places, value_places = places(template.tobytes(), count, topic.value_size)
    files = UnsyncedFiles()
    log = Log.open(
        topic.directory / f"{topic.name}-0",
        LogConfig(segment_bytes=SEGMENT_BYTES),
        now_ms=START_MS,
        descriptors=DescriptorCache(files),
    )
    batches = -(-topic.records // count)
    for first in range(0, batches, GROUP):
        group = min(GROUP, batches - first)
        rows = numpy.repeat(template[None, :], group, axis=0)
        keys = random.integers(0, distinct_keys, group * count)
        digits = (keys[:, None] // 10 ** numpy.arange(KEY_SIZE - 1, -1, -1)) % 10 + ord("0")
        rows[:, key_places] = digits.reshape(group, -1)
        rows[:, value_places] = random.integers(ord("a"), ord("a") + 16, (group, value_places.size), dtype=numpy.uint8)
        for index in range(group):
            batch = sealed(rows[index].tobytes(), codec, START_MS + (first + index) * count)
            log.appender.append_as_leader(batch, 0, START_MS + (first + index) * count, origin=AppendOrigin.COORDINATOR)
    ends = {(topic.name, 0): log.log_end_offset}
    log.close()
    (topic.directory / "meta.properties").write_text("version=1\n")
    (topic.directory / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        write_offset_checkpoint(Files(), topic.directory / name, ends)


def places(template: bytes, count: int, value_size: int) -> tuple[Int64s, Int64s]:
    """Where the bytes of all keys, and of all values, lie in a batch of placeholders."""
    keys, values = [], []
    position = BATCH_HEADER_SIZE
    for _ in range(count):
        position = template.index(bytes(KEY_SIZE), position)
        keys.append(position)
        position = template.index(bytes(value_size), position + KEY_SIZE + 1)
        values.append(position)
        position += value_size + 1
    spread = numpy.arange(max(KEY_SIZE, value_size))
    return (
        (numpy.array(keys)[:, None] + spread[:KEY_SIZE]).ravel(),
        (numpy.array(values)[:, None] + spread[:value_size]).ravel(),
    )


def sealed(batch: bytes, codec: CompressionType, first_timestamp: int) -> bytes:
    """The batch with its times, compression and CRC."""
    fields = list(HEADER.unpack_from(batch))
    fields[8] += first_timestamp - fields[7]
    fields[7] = first_timestamp
    section = compress(codec, batch[BATCH_HEADER_SIZE:])
    fields[1] = BATCH_HEADER_SIZE - 12 + len(section)
    fields[5] |= int(codec)
    header = HEADER.pack(*fields)
    fields[4] = crc32c(header[21:] + section)
    return HEADER.pack(*fields) + section
