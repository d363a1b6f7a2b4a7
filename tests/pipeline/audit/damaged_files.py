"""Injections into indexes, checkpoints, directories and logs: damage, missed maintenance and skew."""

import os
import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

from odradek.pipeline.decode.segment_chunks import MOST_BATCH_BYTES
from odradek.protocol.java.murmur2 import partition_for_key
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.compression import CompressionType
from odradek.storage.files.checkpoints import write_offset_checkpoint
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import write_partition_metadata
from odradek.storage.segment.transaction_index import TransactionIndex
from support.data.log_histories import HISTORY_START_MS
from support.pipeline.audited_directory import CLEANER, HIGH_WATERMARK, LOG_START, NOW_MS, AuditedDirectory

from .audit_injections import COMPACT, DAY_MS, Injection, Where

OTHER_ID = bytes(range(100, 116))


def edited(path: Path, position: int, mask: int) -> Where:
    data = bytearray(path.read_bytes())
    data[position] ^= mask
    path.write_bytes(data)
    return Where(path)


# Indexes -----------------------------------------------------------------------


def a_cut_offset_index(directory: AuditedDirectory) -> Where:
    path = directory.segment(0, ".index")
    data = path.read_bytes()
    path.write_bytes(data[:-3])
    return Where(path, len(data) - 8)


def an_empty_offset_index(directory: AuditedDirectory) -> Where:
    path = directory.segment(0, ".index")
    path.write_bytes(b"")
    return Where(path, 0)


def a_moved_index_entry(directory: AuditedDirectory) -> Where:
    return edited(directory.segment(0, ".index"), 15, 1)._replace(position=8)


def swapped_index_entries(directory: AuditedDirectory) -> Where:
    path = directory.segment(0, ".index")
    data = path.read_bytes()
    path.write_bytes(data[8:16] + data[:8] + data[16:])
    return Where(path, 8)


def a_missing_index_entry(directory: AuditedDirectory) -> Where:
    path = directory.segment(0, ".index")
    data = path.read_bytes()
    path.write_bytes(data[:8] + data[16:])
    return Where(path)


def no_offset_index(directory: AuditedDirectory) -> Where:
    path = directory.segment(0, ".index")
    path.unlink()
    return Where(path, None, 0)


def a_cut_time_index(directory: AuditedDirectory) -> Where:
    path = directory.segment(0, ".timeindex")
    data = path.read_bytes()
    path.write_bytes(data[:-5])
    return Where(path, len(data) - 12)


def a_changed_time(directory: AuditedDirectory) -> Where:
    return edited(directory.segment(0, ".timeindex"), 7, 1)._replace(position=0)


def swapped_times(directory: AuditedDirectory) -> Where:
    path = directory.segment(0, ".timeindex")
    data = path.read_bytes()
    path.write_bytes(data[12:24] + data[:12] + data[24:])
    return Where(path, 12)


def no_last_time(directory: AuditedDirectory) -> Where:
    path = directory.segment(0, ".timeindex")
    data = path.read_bytes()
    path.write_bytes(data[:-12])
    return Where(path, len(data) - 12)


def no_time_index(directory: AuditedDirectory) -> Where:
    path = directory.segment(0, ".timeindex")
    path.unlink()
    return Where(path, None, 0)


def no_transaction_index(directory: AuditedDirectory) -> Where:
    path = directory.segment(0, ".txnindex")
    first = TransactionIndex(0, path.read_bytes()).entries[0]
    path.unlink()
    return Where(path, None, first.last_offset)


def an_invented_abort(directory: AuditedDirectory) -> Where:
    path = directory.segment(0, ".txnindex")
    first = TransactionIndex(0, path.read_bytes()).entries[0]
    return edited(path, 9, 0x7F)._replace(position=0, offset=first.last_offset)


def a_damaged_snapshot(directory: AuditedDirectory) -> Where:
    path = max(directory.partition.glob("*.snapshot"))
    return edited(path, path.stat().st_size - 1, 1)


# Checkpoints and the metadata ----------------------------------------------------


def a_log_start_behind_the_end(directory: AuditedDirectory) -> Where:
    offset = directory.ends["t", 0] + 1
    return Where(directory.checkpoint(LOG_START, offset), offset=offset)


def a_fifo_in_the_place_of_a_segment(directory: AuditedDirectory) -> Where:
    path = directory.segment(1)
    path.unlink()
    os.mkfifo(path)
    return Where(path, 0)


def a_batch_larger_than_is_read(directory: AuditedDirectory) -> Where:
    path = directory.segment(2)
    position = path.stat().st_size
    header = directory.batches(2)[-1][:61]
    struct.pack_into(">i", header, 8, MOST_BATCH_BYTES)
    with path.open("r+b") as file:
        file.seek(position)
        file.write(header)
        file.truncate(position + MOST_BATCH_BYTES + 12)  # sparse: it takes no disk space
    return Where(path, position)


def nonsense_in_a_checkpoint(directory: AuditedDirectory) -> Where:
    path = directory.root / CLEANER
    path.write_text("0\nmany\n")
    return Where(path)


def epochs_that_do_not_rise(directory: AuditedDirectory) -> Where:
    path = directory.partition / "leader-epoch-checkpoint"
    path.write_text("0\n2\n5 0\n3 10\n")
    return Where(path, None, 10)


def an_epoch_that_no_batch_has(directory: AuditedDirectory) -> Where:
    position, header = list(directory.places())[10]
    (directory.partition / "leader-epoch-checkpoint").write_text(f"0\n2\n0 0\n5 {header.base_offset}\n")
    return Where(directory.segment(), position, header.base_offset)


def an_epoch_behind_the_end(directory: AuditedDirectory) -> Where:
    start = directory.ends["t", 0] + 100
    path = directory.partition / "leader-epoch-checkpoint"
    path.write_text(f"0\n2\n0 0\n9 {start}\n")
    return Where(path, None, start)


def a_high_watermark_in_front(directory: AuditedDirectory) -> Where:
    directory.checkpoint(LOG_START, int(directory.segment(1).stem))
    return Where(directory.checkpoint(HIGH_WATERMARK, 1), None, 1)


def a_cleaner_in_front(directory: AuditedDirectory) -> Where:
    directory.checkpoint(LOG_START, int(directory.segment(1).stem))
    return Where(directory.checkpoint(CLEANER, 1), None, 1)


def a_log_start_behind_a_segment(directory: AuditedDirectory) -> Where:
    directory.checkpoint(LOG_START, int(directory.segment(1).stem))
    return Where(directory.segment(), None, 0)


def another_topic_id(directory: AuditedDirectory) -> Where:
    path = directory.partition / "partition.metadata"
    path.unlink()
    write_partition_metadata(Files(), directory.partition, OTHER_ID)
    return Where(path)


def no_partition_metadata(directory: AuditedDirectory) -> Where:
    path = directory.partition / "partition.metadata"
    path.unlink()
    return Where(path)


def a_partition_that_nobody_knows(directory: AuditedDirectory) -> Where:
    directory.write_metadata({}, (1,))
    return Where(directory.partition)


def a_partition_of_another_broker(directory: AuditedDirectory) -> Where:
    directory.write_metadata({}, brokers=(7,))
    return Where(directory.partition)


def a_partition_of_another_directory(directory: AuditedDirectory) -> Where:
    directory.write_metadata({}, directory_id=OTHER_ID)
    return Where(directory.partition)


def a_partition_that_is_not_there(directory: AuditedDirectory) -> Where:
    directory.write_metadata({}, (0, 1))
    write_offset_checkpoint(Files(), directory.root / HIGH_WATERMARK, directory.ends | {("t", 1): 100})
    return Where(directory.root / "t-1")


def a_damaged_metadata_log(directory: AuditedDirectory) -> Where:
    path = directory.root / "__cluster_metadata-0" / f"{0:020d}.log"
    return edited(path, path.stat().st_size - 3, 1)._replace(position=0)


# Files that are left over --------------------------------------------------------


def overlapping_segments(directory: AuditedDirectory) -> Where:
    second = directory.segment(1)
    copy = second.with_name(f"{int(second.stem) + 1:020d}.log")
    copy.write_bytes(second.read_bytes())
    return Where(copy, 0, int(copy.stem))


def _leftover(directory: AuditedDirectory, suffix: str) -> Where:
    path = directory.partition / f"{7:020d}.log{suffix}"
    path.write_bytes(b"")
    return Where(path, None, 7)


def a_deleted_file(directory: AuditedDirectory) -> Where:
    return _leftover(directory, ".deleted")


def a_file_of_the_cleaner(directory: AuditedDirectory) -> Where:
    return _leftover(directory, ".cleaned")


def a_file_to_be_swapped_in(directory: AuditedDirectory) -> Where:
    return _leftover(directory, ".swap")


def an_index_of_no_segment(directory: AuditedDirectory) -> Where:
    path = directory.partition / f"{7:020d}.index"
    path.write_bytes(b"")
    return Where(path, None, 7)


def _leftover_directory(directory: AuditedDirectory, suffix: str) -> Where:
    path = directory.root / f"gone-0.{'ab' * 16}-{suffix}"
    path.mkdir()
    return Where(path)


def a_deleted_directory(directory: AuditedDirectory) -> Where:
    return _leftover_directory(directory, "delete")


def a_future_directory(directory: AuditedDirectory) -> Where:
    return _leftover_directory(directory, "future")


def a_stray_directory(directory: AuditedDirectory) -> Where:
    return _leftover_directory(directory, "stray")


# Neglect and waste ---------------------------------------------------------------


def nothing_done(directory: AuditedDirectory) -> Where:
    return Where(directory.segment(), None, 0)


def a_cleaner_that_stopped(directory: AuditedDirectory) -> Where:
    directory.checkpoint(CLEANER, 0)
    return Where(directory.segment(), None, 0)


def all_codecs(directory: AuditedDirectory) -> Where:
    return Where(directory.partition)


def _filled(directory: AuditedDirectory, batches: int, keys: list[bytes], size: int, codec: CompressionType) -> Where:
    """Replaces the first segment by batches with a record for each key."""
    rng = random.Random(3)
    built = []
    for number in range(batches):
        builder = BatchBuilder(base_offset=number * len(keys), partition_leader_epoch=0, compression=codec)
        for key in keys:
            builder.append(HISTORY_START_MS + number, key.replace(b"N", b"%d" % number), rng.randbytes(size))
        built.append(builder.build())
    directory.write_batches(built)
    return Where(directory.partition)


def one_record_a_batch(directory: AuditedDirectory) -> Where:
    return _filled(directory, 1200, [b"N"], 10, CompressionType.NONE)


def one_key_in_half_of_the_records(directory: AuditedDirectory) -> Where:
    return _filled(directory, 600, [b"N", b"again"], 10, CompressionType.NONE)


def _keys_of_the_second(directory: AuditedDirectory, partition_of: Callable[[bytes], int]) -> Where:
    keys = [key for key in (b"%d" % number for number in range(200)) if partition_of(key) == 1]
    return _filled(directory, 3, keys[:50], 10, CompressionType.NONE)._replace(position=-1)


def keys_that_java_sends_to_the_second(directory: AuditedDirectory) -> Where:
    return _keys_of_the_second(directory, lambda key: partition_for_key(key, 2))


def keys_that_librdkafka_sends_to_the_second(directory: AuditedDirectory) -> Where:
    return _keys_of_the_second(directory, lambda key: zlib.crc32(key) % 2)


def compressed_random_bytes(directory: AuditedDirectory) -> Where:
    return _filled(directory, 20, [b"N"], 64 << 10, CompressionType.GZIP)


def a_partition_of_many_bytes(directory: AuditedDirectory) -> Where:
    directory.partition = directory.root / "t-1"
    return _filled(directory, 30, [b"N"], 64 << 10, CompressionType.NONE)


FILE_INJECTIONS = [
    Injection("offset-index-size", a_cut_offset_index),
    Injection("offset-index-truncated", an_empty_offset_index),
    Injection("offset-index-mismatch", a_moved_index_entry),
    Injection("offset-index-not-increasing", swapped_index_entries),
    Injection("offset-index-sparse", a_missing_index_entry),
    Injection("offset-index-missing", no_offset_index),
    Injection("time-index-size", a_cut_time_index),
    Injection("time-index-mismatch", a_changed_time),
    Injection("time-index-not-increasing", swapped_times),
    Injection("time-index-incomplete", no_last_time),
    Injection("time-index-missing", no_time_index),
    Injection("aborted-transaction-unindexed", no_transaction_index),
    Injection("transaction-index-invalid", an_invented_abort),
    Injection("producer-snapshot-corrupt", a_damaged_snapshot),
    Injection("checkpoint-unreadable", nonsense_in_a_checkpoint),
    Injection("log-start-beyond-log", a_log_start_behind_the_end),
    Injection("file-unreadable", a_fifo_in_the_place_of_a_segment),
    Injection("batch-too-large", a_batch_larger_than_is_read),
    Injection("leader-epoch-checkpoint-invalid", epochs_that_do_not_rise),
    Injection("leader-epoch-mismatch", an_epoch_that_no_batch_has),
    Injection("leader-epoch-beyond-log", an_epoch_behind_the_end),
    Injection("high-watermark-below-log-start", a_high_watermark_in_front),
    Injection("cleaner-checkpoint-below-log-start", a_cleaner_in_front, COMPACT),
    Injection("segments-below-log-start", a_log_start_behind_a_segment),
    Injection("topic-id-mismatch", another_topic_id),
    Injection("partition-metadata-missing", no_partition_metadata),
    Injection("partition-not-in-metadata", a_partition_that_nobody_knows),
    Injection("partition-assigned-elsewhere", a_partition_of_another_broker),
    Injection("partition-assigned-elsewhere", a_partition_of_another_directory),
    Injection("partition-missing", a_partition_that_is_not_there),
    Injection("metadata-log-damaged", a_damaged_metadata_log),
    Injection("segment-overlap", overlapping_segments),
    Injection("leftover-deleted", a_deleted_file),
    Injection("leftover-cleaned", a_file_of_the_cleaner),
    Injection("leftover-swap", a_file_to_be_swapped_in),
    Injection("index-without-log", an_index_of_no_segment),
    Injection("leftover-delete-directory", a_deleted_directory),
    Injection("leftover-future-directory", a_future_directory),
    Injection("leftover-stray-directory", a_stray_directory),
    Injection("retention-overdue", nothing_done, {"retention.ms": "1000"}, NOW_MS + DAY_MS),
    Injection("retention-overdue", nothing_done, {"retention.bytes": "1000"}, NOW_MS + DAY_MS),
    Injection("partition-never-cleaned", nothing_done, COMPACT, NOW_MS + 2 * DAY_MS),
    Injection("compaction-overdue", a_cleaner_that_stopped, COMPACT, NOW_MS + 2 * DAY_MS),
    Injection("compaction-overdue", nothing_done, COMPACT | {"max.compaction.lag.ms": "1000"}, NOW_MS + DAY_MS // 2),
    Injection("codecs-mixed", all_codecs),
    Injection("batches-tiny", one_record_a_batch),
    Injection("key-skew", one_key_in_half_of_the_records),
    Injection("keys-of-another-partition", keys_that_java_sends_to_the_second, partitions=(0, 1)),
    Injection("keys-of-another-partition", keys_that_librdkafka_sends_to_the_second, partitions=(0, 1)),
    Injection("compression-without-gain", compressed_random_bytes),
    Injection("partition-skew", a_partition_of_many_bytes, partitions=(0, 1, 2)),
]
