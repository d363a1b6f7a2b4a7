"""Named histories of one partition, after Kafka's own cleaner tests: they write, clean, check and write again.

A scenario is a generator: it writes through its `CompactionLog` and yields a `Clean` for each round, which
returns the content of the partition after it. It asserts what Kafka's test of that name asserts. `play` compares every
byte with Kafka's. Markers are removed in two rounds, delete.retention.ms (one hour) apart.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import NamedTuple

from support.pipeline.compaction_log import COMPACTED, HOUR_MS, Batches, CompactionLog, read_headers
from support.pipeline.compaction_rounds import MANY_KEYS


class Clean(NamedTuple):
    """A round at a time after the last write.

    It starts where the last round ended. `is_whole`: from the start of the log, as without a checkpoint;
    `from_offset`: from this checkpoint.
    """

    after_ms: int = 0
    is_whole: bool = False
    from_offset: int | None = None
    max_keys: int = MANY_KEYS
    buffer_bytes: int = 1 << 18


Rounds = Generator[Clean, Batches, None]
Scenario = Callable[[CompactionLog], Rounds]

SMALL = replace(COMPACTED, segment_bytes=1024)


# Latest value of each key, tombstones ----------------------------------------


def latest_of_each_key(log: CompactionLog) -> Rounds:
    for key in range(60):
        log.send(key % 20)
    log.roll()
    found = yield Clean()
    assert found.keys == list(range(20))
    assert found.offsets == list(range(40, 60))


def deletes(log: CompactionLog) -> Rounds:
    log.config = SMALL
    for key in range(20):
        log.send(key)
    for key in range(0, 20, 2):
        log.send(key, value=None)
    for key in range(100, 120):
        log.send(key)
    log.roll()
    found = yield Clean()
    assert sorted(found.keys) == [*range(20), *range(100, 120)], "tombstones stay until their horizon"
    found = yield Clean(HOUR_MS - 1, is_whole=True)
    assert sorted(found.keys) == [*range(20), *range(100, 120)]
    found = yield Clean(HOUR_MS, is_whole=True)
    assert sorted(found.keys) == [*range(1, 20, 2), *range(100, 120)]


def tombstone_with_another_time(log: CompactionLog) -> Rounds:
    later, earlier = log.now_ms + 2 * HOUR_MS, log.now_ms - 2 * HOUR_MS
    log.send(0, value=b"0", times=[later])
    log.roll()
    yield Clean()
    log.send(0, value=None, times=[earlier])
    log.roll()
    found = yield Clean()
    assert found.last_offsets == [1], "its horizon counts from the round that saw it first, not from its time"
    log.send(1, value=b"1")
    log.roll()
    found = yield Clean()
    assert found.last_offsets == [1, 2]


# Idempotent producers ----------------------------------------------------------


def last_sequences(log: CompactionLog) -> list[tuple[int, int]]:
    """(producer, last sequence) of each batch of data with a producer."""
    return [
        (header.producer_id, header.last_sequence)
        for _, _, header, _ in read_headers(log.directory)
        if header.has_producer_id and not header.is_control
    ]


def duplicate_check(log: CompactionLog) -> Rounds:
    log.send(1, 2, 3, producer=1)
    log.send(3, 1, 4, producer=2)
    log.send(1, 4, producer=3)
    log.roll()
    found = yield Clean()
    assert found.last_offsets == [2, 5, 7]
    assert (found.keys, found.offsets) == ([2, 3, 1, 4], [1, 3, 6, 7])
    assert last_sequences(log) == [(1, 2), (2, 2), (3, 1)]
    known = log.log.producer_state.producers
    assert {producer: entry.last_sequence for producer, entry in known.items()} == {1: 2, 2: 2, 3: 1}
    log.send(2, producer=4)
    log.roll()
    found = yield Clean(is_whole=True)
    assert found.last_offsets == [2, 5, 7, 8]
    assert (found.keys, found.offsets) == ([3, 1, 4, 2], [3, 6, 7, 8])
    assert last_sequences(log) == [(1, 2), (2, 2), (3, 1), (4, 0)]


def last_sequence(log: CompactionLog) -> Rounds:
    log.send(0)
    for producer in (1, 2, 3):
        log.send(0, producer=producer)
    log.send(1, producer=2)
    log.roll()
    found = yield Clean()
    assert found.last_offsets == [1, 3, 4]
    assert (found.keys, found.offsets) == ([0, 1], [3, 4])
    assert last_sequences(log) == [(1, 0), (3, 0), (2, 1)]


def last_sequence_of_an_aborted_transaction(log: CompactionLog) -> Rounds:
    log.send(1, transaction=1)
    log.send(2, 3, transaction=1)
    log.abort(1)
    log.roll()
    found = yield Clean()
    assert found.last_offsets == [2, 3]
    assert (found.keys, found.offsets) == ([], [3])
    assert last_sequences(log) == [(1, 2)]
    log.send(1, 5, transaction=1)
    log.commit(1)
    log.roll()
    found = yield Clean(is_whole=True)
    assert found.last_offsets == [3, 5, 6]
    assert found.keys == [1, 5]


def sequence_reuse(log: CompactionLog) -> Rounds:
    for key in (1, 2):  # the group coordinator begins each batch with sequence 0
        log.send(key, transaction=1, sequence=0)
        log.commit(1)
    log.send(1)
    log.send(2)
    log.roll()
    found = yield Clean()
    assert found.offsets == [1, 3, 4, 5]
    assert found.last_offsets == [1, 2, 3, 4, 5], "the last offset, not the sequence, says which batch stays"
    yield Clean(is_whole=True)
    found = yield Clean(HOUR_MS + 1, is_whole=True)
    assert found.offsets == [3, 4, 5]
    assert found.last_offsets == [2, 3, 4, 5]


def sequence_wrap(log: CompactionLog) -> Rounds:
    log.send(1, 2, 3, 4, producer=1, sequence=0x7FFFFFFE)
    log.send(1, 2, producer=1, sequence=2)
    log.send(5, producer=2, sequence=0x7FFFFFFF)
    log.send(5, 6, producer=2, sequence=0)
    log.roll()
    found = yield Clean()
    assert found.keys == [3, 4, 1, 2, 5, 6]


def new_epoch_of_a_producer(log: CompactionLog) -> Rounds:
    log.send(1, transaction=1, epoch=0)
    log.abort(1, epoch=1)  # the coordinator fences with the next epoch
    log.send(1, 2, transaction=1, epoch=1)
    log.commit(1, epoch=1)
    log.commit(2, epoch=5)
    log.commit(2, epoch=6)
    log.send(1)
    log.roll()
    for after in (0, HOUR_MS + 1, 2 * HOUR_MS + 2):
        found = yield Clean(after, is_whole=True)
    assert found.last_offsets == [3, 4, 6, 7], "the marker of producer 2's last epoch stays as a header"
    assert found.offsets == [3, 4, 7]


def expired_producer(log: CompactionLog) -> Rounds:
    log.config = replace(COMPACTED, producer_id_expiration_ms=HOUR_MS)
    log.send(1, producer=1)
    log.send(1, producer=2)
    log.send(1)
    log.roll()
    found = yield Clean(HOUR_MS - 1)
    assert found.last_offsets == [0, 1, 2]
    found = yield Clean(HOUR_MS, is_whole=True)
    assert found.last_offsets == [2]


# Keys and offsets ----------------------------------------------------------------


def keys_like_those_of_markers(log: CompactionLog) -> Rounds:
    log.leader_epoch = 5
    log.send(1, transaction=1)
    log.commit(1)
    log.send(b"\0\0\0\1", transaction=2)  # version 0, type 1: a COMMIT marker's key
    log.commit(2)
    log.roll()
    found = yield Clean()
    assert found.offsets == found.last_offsets == [0, 1, 2, 3]


def records_without_a_key(log: CompactionLog) -> Rounds:
    log.config = SMALL
    while len(log.log.segments) < 2:
        log.send(None)
    first_keyed = log.end
    while len(log.log.segments) < 3:
        log.send(log.end)
    end = log.log.segments.active.base_offset
    found = yield Clean()
    assert found.offsets[: end - first_keyed] == list(range(first_keyed, end))


def last_empty_batch(log: CompactionLog) -> Rounds:
    log.config = SMALL
    for key in range(20):
        log.send(key)
    log.roll()
    sealed = log.end
    for key in range(20):
        log.send(key)
    log.abort(9)
    log.roll()
    found = yield Clean()
    assert sealed - 1 not in found.last_offsets, "only the round's last batch stays, not a segment's"
    log.send(*range(30), transaction=8)
    log.abort(8)
    log.roll()
    log.send(1)
    found = yield Clean(is_whole=True)
    assert 71 in found.last_offsets
    assert 71 in found.offsets


def undecided_transaction(log: CompactionLog) -> Rounds:
    log.send(1)
    log.send(1)
    log.roll()
    log.send(2)
    log.send(2)
    log.send(1, transaction=7)
    log.roll()
    log.send(2)
    log.roll()
    found = yield Clean()
    assert found.offsets == [1, 2, 3, 4, 5], "the segment of the last stable offset is left whole"
    log.commit(7)
    log.roll()
    found = yield Clean()
    assert found.offsets == [4, 5, 6]


def hanging_transaction(log: CompactionLog) -> Rounds:
    log.send(1, transaction=7)
    log.roll()
    for _ in range(4):
        log.send(2)
    log.roll()
    found = yield Clean(100 * HOUR_MS)
    assert found.offsets == [0, 1, 2, 3, 4], "nothing at or behind it is cleaned, however old it is"


def younger_than_the_lag(log: CompactionLog) -> Rounds:
    log.config = replace(COMPACTED, min_compaction_lag_ms=HOUR_MS)
    for _ in range(3):
        log.send(1)
        log.send(1)
        log.roll()
        log.now_ms += HOUR_MS // 2
    found = yield Clean()
    assert found.offsets == [3, 4, 5]
    found = yield Clean(HOUR_MS // 2)
    assert found.offsets == [5]
