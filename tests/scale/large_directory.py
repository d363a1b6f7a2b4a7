"""Creates log directories of many gigabytes within minutes: one segment through the project's own log, then copies.

A copy's batches get other base offsets, which no CRC covers. Indexes have offsets relative to the segment's base offset
and are copied unchanged.
"""

import random
import shutil
from pathlib import Path

from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from odradek.storage.files.checkpoints import write_offset_checkpoint
from odradek.storage.files.descriptors import DescriptorCache
from odradek.storage.files.file_names import segment_path
from odradek.storage.files.files import Files
from odradek.storage.log.log import AppendOrigin, Log
from odradek.storage.log.log_config import LogConfig
from support.data.log_histories import HISTORY_START_MS
from support.disks.unsynced_files import UnsyncedFiles

SEGMENT_BYTES = 64 << 20
RECORDS_OF_A_BATCH = 32
VALUE_BYTES = 500
BATCHES_OF_A_PRODUCER = 500


def write_large_directory(root: Path, size: int, partitions: int) -> dict[str, int]:
    """Writes about `size` bytes as partitions of a topic `t`; returns the records of each partition by name."""
    template = _template(root.parent / "template" / "t-0")
    length = template.stat().st_size
    segments = max(size // length // partitions, 1)
    starts = _starts(template)
    records = _end(template)
    for partition in range(partitions):
        directory = root / f"t-{partition}"
        directory.mkdir(parents=True)
        for number in range(segments):
            _copy(template, directory, starts, number * records)
    ends = {("t", partition): segments * records for partition in range(partitions)}
    (root / "meta.properties").write_text("version=1\n")
    (root / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        write_offset_checkpoint(Files(), root / name, ends)
    shutil.rmtree(template.parent.parent)
    return {f"t-{partition}": segments * records for partition in range(partitions)}


def _template(directory: Path) -> Path:
    """A log of one segment, closed cleanly, with alternately uncompressed and lz4 batches."""
    rng = random.Random(1)
    config = LogConfig(segment_bytes=2 * SEGMENT_BYTES)
    log = Log.open(directory, config, now_ms=HISTORY_START_MS, descriptors=DescriptorCache(UnsyncedFiles()))
    written = number = 0
    while written < SEGMENT_BYTES:
        records = [
            Record(i, HISTORY_START_MS + number, b"key-%d" % rng.randrange(100_000), _value(rng), [])
            for i in range(RECORDS_OF_A_BATCH)
        ]
        codec = CompressionType.LZ4 if number // BATCHES_OF_A_PRODUCER % 2 else CompressionType.NONE
        batch = encode_batch(records, compression=codec)
        log.appender.append_as_leader(batch, 0, HISTORY_START_MS + number, origin=AppendOrigin.COORDINATOR)
        written += len(batch)
        number += 1
    log.close()
    return segment_path(directory, 0, ".log")


def _starts(template: Path) -> list[tuple[int, int]]:
    """(position, base offset) of each batch."""
    return [(position, header.base_offset) for position, header in iterate_headers(template.read_bytes())]


def _end(template: Path) -> int:
    return max(header.last_offset for _, header in iterate_headers(template.read_bytes())) + 1


def _copy(template: Path, directory: Path, starts: list[tuple[int, int]], base_offset: int) -> None:
    data = bytearray(template.read_bytes())
    for position, offset in starts:
        data[position : position + 8] = (base_offset + offset).to_bytes(8, "big")
    segment_path(directory, base_offset, ".log").write_bytes(data)
    for suffix in (".index", ".timeindex"):
        shutil.copy(template.with_suffix(suffix), segment_path(directory, base_offset, suffix))


def _value(rng: random.Random) -> bytes:
    """Bytes that compress to about half."""
    return rng.randbytes(VALUE_BYTES // 2) + bytes([rng.randrange(256)]) * (VALUE_BYTES // 2)
