"""Acknowledgements that wait for the disk: when they are sent, when records are visible, the number of syncs."""

import asyncio
import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from odradek.broker.replicas.group_commit import SYNCS
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.offsets import ListOffsetsRequest
from odradek.storage.directory.directory_flush import DirectoryFlusher
from odradek.storage.files.files import EXISTING
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.log_flush import Flush
from support.eventually import eventually_in_loop

from ..append_path import NOW, TOPIC, AppendPath, GatedFiles, batch, only, turns

FSYNC = LogConfig(acks_all_fsync=True)
LATEST = -1


async def latest(path: AppendPath, isolation_level: int = 0) -> int:
    """The latest offset in ListOffsets at this isolation level."""
    wanted = ListOffsetsRequest.ListOffsetsPartition(0, timestamp=LATEST)
    topic = ListOffsetsRequest.ListOffsetsTopic(TOPIC, [wanted])
    answer = await path.send(ApiKey.LIST_OFFSETS, 7, ListOffsetsRequest(-1, isolation_level, [topic]))
    offset: int = answer.topics[0].partitions[0].offset
    return offset


async def test_by_default_nothing_is_synced_and_nothing_waits(tmp_path: Path) -> None:
    files = GatedFiles()
    path = AppendPath(tmp_path, LogConfig(), files=files)
    files.gate.clear()
    for acks in (1, -1):
        answered = path.produce({0: batch()}, acks=acks)
        assert answered.done(), "answered inside the call"
    assert await latest(path) == 2
    await turns()
    assert files.syncs == 0
    files.gate.set()
    await path.close()


async def test_acks_all_is_answered_and_seen_when_it_is_on_the_disk(tmp_path: Path) -> None:
    files = GatedFiles()
    path = AppendPath(tmp_path, FSYNC, files=files)
    files.gate.clear()
    answered = path.produce({0: batch(count=3)})
    woken: list[int] = []
    path.partition().wait(woken.append)
    await turns()
    assert not answered.done()
    assert path.log().log_end_offset == 3
    assert await latest(path) == await latest(path, isolation_level=1) == 0
    assert not woken
    files.gate.set()
    answer = only(await answered)
    assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, 0)
    assert await latest(path) == await latest(path, isolation_level=1) == 3
    assert woken == [len(batch(count=3))]
    assert files.sync_threads.isdisjoint({"MainThread"}), "the event loop never waits for the disk"
    await path.close()


async def test_acks_1_is_answered_at_once_and_seen_when_it_is_on_the_disk(tmp_path: Path) -> None:
    files = GatedFiles()
    path = AppendPath(tmp_path, FSYNC, files=files)
    files.gate.clear()
    assert path.produce({0: batch()}, acks=1).done()
    assert path.produce({0: batch()}, acks=0).done()
    await turns()
    assert await latest(path) == 0
    seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def look(appended_bytes: int) -> None:
        if not seen.done():
            seen.set_result(appended_bytes)

    path.partition().wait(look)
    files.gate.set()
    await seen
    assert await latest(path) == 2
    await path.close()


async def test_one_round_serves_all_that_wait_and_the_next_all_that_came_meanwhile(tmp_path: Path) -> None:
    files = GatedFiles()
    path = AppendPath(tmp_path, FSYNC, partitions=3, files=files)
    await path.produce({0: batch(), 1: batch(), 2: batch()})
    files.syncs = 0
    files.gate.clear()
    first = [path.produce({index: batch()}) for index in (0, 1, 0, 1, 0)]
    await turns()
    second = [path.produce({index: batch()}) for index in (0, 2, 2, 2)]
    await turns()
    files.gate.set()
    answers = [only(await answered) for answered in first + second]
    assert [answer.base_offset for answer in answers] == [1, 1, 2, 2, 3, 4, 1, 2, 3]
    assert files.syncs == 4, "one for each partition in each round"
    await path.close()


async def test_a_request_to_many_partitions_is_answered_once_when_all_are_on_the_disk(tmp_path: Path) -> None:
    path = AppendPath(tmp_path, FSYNC, partitions=20, files=GatedFiles())
    response = await path.produce({index: batch() for index in range(20)})
    assert response is not None
    assert [answer.error_code for answer in response.responses[0].partition_responses] == [ErrorCode.NONE] * 20
    assert all(path.log(index).offsets.synced_offset == 1 for index in range(20))
    await path.close()


async def test_flush_messages_delays_the_answer_that_reaches_it_and_no_other(tmp_path: Path) -> None:
    files = GatedFiles()
    path = AppendPath(tmp_path, LogConfig(flush_messages=3), files=files)
    files.gate.clear()
    assert path.produce({0: batch(count=2)}, acks=1).done()
    await turns()
    assert (files.syncs, await latest(path)) == (0, 2)
    third = path.produce({0: batch(count=2)}, acks=1)
    await turns()
    assert not third.done(), "Kafka flushes before it answers, whatever acks says"
    assert await latest(path) == 2, "as in Kafka, where the high watermark follows the append"
    files.gate.set()
    assert only(await third).base_offset == 2
    assert await latest(path) == 4
    files.gate.clear()
    assert path.produce({0: batch(count=2)}).done(), "the count begins anew with the sync"
    files.gate.set()
    await path.close()


async def test_a_smaller_flush_messages_holds_at_once_and_a_larger_one_lets_go(tmp_path: Path) -> None:
    files = GatedFiles()
    path = AppendPath(tmp_path, LogConfig(), files=files)
    path.log().update_config(LogConfig(flush_messages=1))
    files.gate.clear()
    waits = path.produce({0: batch()})
    await turns()
    assert not waits.done()
    path.log().update_config(LogConfig())
    assert path.produce({0: batch()}).done()
    assert await latest(path) == 2
    files.gate.set()
    assert only(await waits).error_code == ErrorCode.NONE
    await path.close()


async def test_a_repeated_batch_waits_for_the_disk_as_the_first_one_did(tmp_path: Path) -> None:
    files = GatedFiles()
    path = AppendPath(tmp_path, FSYNC, files=files)
    files.gate.clear()
    sent = batch(producer_id=5, producer_epoch=0, base_sequence=0)
    first, again = path.produce({0: sent}), path.produce({0: sent})
    await turns()
    assert not first.done()
    assert not again.done()
    files.gate.set()
    assert only(await first).base_offset == only(await again).base_offset == 0
    assert path.log().log_end_offset == 1
    await path.close()


async def test_a_failed_sync_is_told_to_all_who_wait_and_is_final(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = GatedFiles()
    path = AppendPath(tmp_path, FSYNC, partitions=2, files=files)
    await path.produce({0: batch(), 1: batch()})
    files.gate.clear()
    files.sync_error = OSError(errno.EIO, "Input/output error")
    waiting = [path.produce({0: batch(), 1: batch()}), path.produce({0: batch()})]
    await turns()
    late = path.produce({1: batch()})
    files.gate.set()
    for answered in [*waiting, late]:
        response = await answered
        assert response is not None
        for answer in response.responses[0].partition_responses:
            assert (answer.error_code, answer.base_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
    files.sync_error = None
    assert only(await path.produce({0: batch()})).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (path.log().offsets.synced_offset, path.log().high_watermark) == (1, 1), "what is unknown is never seen"
    assert "Input/output error" in caplog.text
    await path.lose_power()


@pytest.mark.parametrize("partitions", [1, 7])
async def test_a_sync_that_a_bug_ends_is_repeated(
    tmp_path: Path, partitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file has failed: the directory stays, and the requests wait for the next sync."""
    path = AppendPath(tmp_path, FSYNC, partitions=partitions)
    sync, raised = DirectoryFlusher.sync, list[int]()

    def fails_once(flusher: DirectoryFlusher, flushes: list[tuple[Log, Flush]]) -> None:
        if not raised:
            raised.append(len(flushes))
            raise KeyError("a bug")
        sync(flusher, flushes)

    monkeypatch.setattr(DirectoryFlusher, "sync", fails_once)
    before = SYNCS.failures
    answer = await path.produce({index: batch() for index in range(partitions)})
    assert answer is not None
    assert [one.error_code for one in answer.responses[0].partition_responses] == [ErrorCode.NONE] * partitions
    assert all(path.log(index).offsets.synced_offset == 1 for index in range(partitions))
    assert (raised, path.directory.failure, SYNCS.failures) == ([partitions], None, before + 1)
    await path.lose_power()


async def test_a_topic_that_goes_while_a_produce_waits_answers_it(tmp_path: Path) -> None:
    files = GatedFiles()
    path = AppendPath(tmp_path, FSYNC, files=files)
    files.gate.clear()
    first = path.produce({0: batch()})
    await turns()
    second = path.produce({0: batch()})
    path.partitions.remove_topic(TOPIC)
    path.directory.delete_log(TOPIC, 0, NOW)
    files.gate.set()
    assert only(await first).error_code == ErrorCode.NONE
    assert only(await second).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    await path.close()


async def test_a_commit_is_durable_when_it_is_called_so_and_in_order(tmp_path: Path) -> None:
    files = GatedFiles()
    path = AppendPath(tmp_path, FSYNC, files=files)
    files.gate.clear()
    offsets = path.partition_log()
    told: list[tuple[str, ErrorCode]] = []

    def note(name: str) -> Callable[[ErrorCode], None]:
        return lambda error: told.append((name, error))

    offsets.append(batch(), NOW)
    offsets.when_durable(note("first"))
    await turns()
    offsets.append(batch(), NOW)
    offsets.when_durable(note("second"))
    offsets.when_durable(note("a read behind it"))
    last: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
    offsets.when_durable(last.set_result)
    await turns()
    assert not told
    files.gate.set()
    assert await last is ErrorCode.NONE
    assert told == [(name, ErrorCode.NONE) for name in ("first", "second", "a read behind it")]
    offsets.when_durable(note("at once"))
    assert told[-1] == ("at once", ErrorCode.NONE)
    await path.close()


async def test_flush_ms_needs_no_scheduler(tmp_path: Path) -> None:
    """The timer starts with the first unsynced record, and again after each sync."""
    path = AppendPath(tmp_path, LogConfig(flush_ms=1), files=GatedFiles())
    for end in (1, 2):
        synced: asyncio.Future[KafkaError | None] = asyncio.get_running_loop().create_future()
        assert path.produce({0: batch()}).done(), "no answer waits for flush.ms"
        assert path.log().offsets.synced_offset == end - 1
        path.group_commit.when_synced(path.log(), 0, lambda _: None)
        waiter = partial(path.group_commit.when_synced, path.log(), end, synced.set_result)
        # Only observes: the request of when_synced is withdrawn, so that only the timer causes the sync.
        waiter()
        path.group_commit._wanted.clear()
        assert await synced is None
    await path.close()


async def test_what_has_rolled_is_synced_at_once(tmp_path: Path) -> None:
    path = AppendPath(tmp_path, LogConfig(segment_bytes=200), files=GatedFiles())
    log = path.log()
    while len(log.segments) < 3:
        assert path.produce({0: batch()}).done()
    done: asyncio.Future[KafkaError | None] = asyncio.get_running_loop().create_future()
    path.group_commit.when_synced(log, log.log_end_offset, done.set_result)
    assert await done is None
    assert log.offsets.recovery_point == log.log_end_offset
    assert not log.offsets.wants_sync
    await path.close()


async def test_a_sync_leaves_the_indexes_of_the_active_segment_out(tmp_path: Path) -> None:
    files = GatedFiles()
    path = AppendPath(tmp_path, LogConfig(acks_all_fsync=True, index_interval_bytes=0), files=files)
    log = path.log()
    await path.produce({0: batch()})
    recovery_point = log.offsets.recovery_point
    files.syncs = 0
    for _ in range(5):
        await path.produce({0: batch()})
    assert files.syncs == 5, "the log file alone"
    assert (log.offsets.synced_offset, log.offsets.recovery_point) == (6, recovery_point), (
        "its indexes are not behind it"
    )
    path.group_commit.request(log, with_indexes=True)
    done: asyncio.Future[KafkaError | None] = asyncio.get_running_loop().create_future()
    await path.produce({0: batch()})
    path.group_commit.when_synced(log, 7, done.set_result)
    await done
    assert log.offsets.recovery_point >= 6
    await path.close()


class RoundSizes:
    """A flusher of a directory that notes the number of logs that each round syncs."""

    def __init__(self, flusher: DirectoryFlusher) -> None:
        self.sizes: list[int] = []
        self._flusher = flusher

    def sync(self, flushes: list[tuple[Log, Flush]]) -> None:
        self.sizes.append(len(flushes))
        self._flusher.sync(flushes)

    def __getattr__(self, name: str) -> object:
        return getattr(self._flusher, name)


async def test_a_round_prepares_a_few_logs(tmp_path: Path) -> None:
    """They are prepared in one turn of the event loop. Later rounds sync the other logs."""
    path = AppendPath(tmp_path, FSYNC, partitions=7, most_logs=3)
    rounds = RoundSizes(path.directory.flusher)
    path.directory.flusher = cast("DirectoryFlusher", rounds)
    answer = await path.produce({index: batch() for index in range(7)})
    assert answer is not None
    assert [one.error_code for one in answer.responses[0].partition_responses] == [ErrorCode.NONE] * 7
    assert rounds.sizes == [3, 3, 1]
    await path.close()


class OpenLimit(GatedFiles):
    """Files of a process that cannot open more files while ``is_exhausted``."""

    is_exhausted = False
    refused = 0

    def open(self, path: Path, flags: int = EXISTING) -> int:
        self._check(path)
        return super().open(path, flags)

    def sync_directory(self, path: Path) -> None:
        self._check(path)
        super().sync_directory(path)

    def _check(self, path: Path) -> None:
        if self.is_exhausted:
            self.refused += 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(path))


@pytest.mark.parametrize("partitions", [1, 7])
async def test_without_descriptors_acknowledgements_wait_and_the_directory_stays(
    tmp_path: Path, partitions: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A round that could not open a file to sync used to take the directory offline, and with it the broker."""
    files = OpenLimit()
    path = AppendPath(tmp_path, FSYNC, partitions=partitions, files=files)
    files.gate.clear()
    answered = path.produce({index: batch() for index in range(partitions)})  # with the first sync of their directories
    await turns()
    files.is_exhausted = True
    files.gate.set()
    await eventually_in_loop("two tries", lambda: files.refused >= 3 * partitions)
    assert not answered.done(), "no acknowledgement without a sync"
    assert all(path.log(index).offsets.synced_offset == 0 for index in range(partitions))
    files.is_exhausted = False
    answer = await answered
    assert answer is not None
    assert [one.error_code for one in answer.responses[0].partition_responses] == [ErrorCode.NONE] * partitions
    assert all(path.log(index).offsets.synced_offset == 1 for index in range(partitions))
    assert path.directory.failure is None
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert "the broker tries again" in caplog.text
    assert "ulimit -n" in caplog.text
    await path.close()
