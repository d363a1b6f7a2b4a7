"""The scenarios (see compaction_scenarios.py) with messages of format 0 and 1, which become batches of format 2."""

import os
from dataclasses import replace

from odradek.protocol.records.compression import CompressionType
from support.data.legacy_messages import LEGACY_CODECS
from support.pipeline.compaction_log import COMPACTED, HOUR_MS, CompactionLog, read_headers

from .compaction_scenarios import Clean, Rounds


def magics(log: CompactionLog) -> set[int]:
    """The formats of the batches that the cleaner has written or left."""
    return {header.magic for _, _, header, _ in read_headers(log.directory)}


def legacy_messages_become_batches(log: CompactionLog) -> Rounds:
    log.send_legacy(0, 1, 2, 3)
    log.send_legacy(1, 4, 2, 5)
    log.send(3, 6)
    log.send_legacy(1, 7, value=None)
    log.send_legacy(0, None, 8)
    log.roll()
    found = yield Clean()
    assert found.keys == [1, 4, 2, 5, 3, 6, 7, 8]
    assert magics(log) == {2}
    log.send_legacy(1, 1, 7)
    log.roll()
    found = yield Clean()
    assert found.keys == [4, 2, 5, 3, 6, 8, 1, 7]


def legacy_wrappers_become_batches(log: CompactionLog) -> Rounds:
    log.config = replace(COMPACTED, index_interval_bytes=1)
    for magic in (0, 1):
        for codec in LEGACY_CODECS:
            log.send_legacy(magic, 1, 2, 100 + 10 * codec + magic, codec=codec)
            log.send_legacy(magic, 3, 3, codec=codec, has_append_time=True)
    log.send(2, 3, codec=CompressionType.ZSTD)
    log.roll()
    found = yield Clean()
    others = [100 + 10 * codec + magic for magic in (0, 1) for codec in LEGACY_CODECS]
    assert sorted(found.keys) == sorted([1, 2, 3, *others])
    assert magics(log) == {2}
    yield Clean(is_whole=True)


def legacy_tombstones(log: CompactionLog) -> Rounds:
    """They have no horizon: the times of the files decide, of the segment and of the last clean one."""
    log.send(1)
    log.roll()
    log.send_legacy(1, 2, 3, value=None)
    log.roll()
    log.send(4)
    log.roll()
    log.log.close()
    for number, path in enumerate(sorted(log.directory.glob("*.log"))):
        os.utime(path, (number * 1000, number * 1000))
    log.close()
    yield Clean(from_offset=1)
    log.send_legacy(0, 5, 6, value=None)
    log.send(7)
    log.roll()
    yield Clean(HOUR_MS, from_offset=4)
    yield Clean(HOUR_MS, is_whole=True)
