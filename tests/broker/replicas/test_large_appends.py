"""Appends on a thread: their order, requests to the partition during an append, the state after a failed write."""

import threading
from pathlib import Path

import pytest

from odradek.broker.replicas.writer_threads import WRITES
from odradek.protocol.errors import ErrorCode
from odradek.storage.log.log import PendingAppend
from odradek.storage.log.log_config import LogConfig

from ..append_path import NOW, TOPIC, AppendPath, batch, only, turns
from .interleaved_appends import LARGE_BYTES, Interleaving, WriteGate

SMALL, LARGE = batch(b"s"), batch(b"l" * LARGE_BYTES)


async def replay(directory: Path, seed: int, steps: int) -> None:
    run = Interleaving(directory, seed)
    try:
        await run.run(steps)
    except Exception as difference:
        run.files.gate.set()
        difference.add_note(
            f"replay: Interleaving(directory, {seed}).run({steps})  # tests/broker/replicas/interleaved_appends.py"
        )
        raise


@pytest.mark.parametrize("seed", range(25))
async def test_interleaved_appends_are_those_of_one_after_the_other(tmp_path: Path, seed: int) -> None:
    await replay(tmp_path, seed, 80)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1500))
async def test_interleaved_appends_many_seeds(tmp_path: Path, seed: int) -> None:
    await replay(tmp_path, seed, 300)


async def test_a_large_write_does_not_hold_the_loop_nor_other_partitions(tmp_path: Path) -> None:
    files = WriteGate()
    path = AppendPath(tmp_path, LogConfig(), partitions=2, files=files, large_bytes=LARGE_BYTES)
    files.gate.clear()
    large = path.produce({0: LARGE})
    behind = path.produce({0: SMALL})
    both = path.produce({0: SMALL, 1: SMALL})
    assert path.produce({1: SMALL}).done(), "another partition is served inside the call"
    await turns()
    assert not large.done()
    assert not behind.done()
    assert not both.done()
    assert path.log(0).log_end_offset == 0, "nothing of it can be seen"
    files.gate.set()
    assert only(await large).base_offset == 0
    assert only(await behind).base_offset == 1
    response = await both
    assert response is not None
    assert [answer.base_offset for answer in response.responses[0].partition_responses] == [2, 0]
    assert path.produce({0: SMALL}).done(), "and small batches end inside the call again"
    await path.close()


@pytest.mark.parametrize("times", [1, 2])
async def test_a_bug_in_a_write_leaves_no_batch_without_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """After one on the thread, the event loop writes the batch. After one there, too, the next append does."""
    write, raised = PendingAppend.write, list[int]()

    def fails(pending: PendingAppend) -> None:
        if len(raised) < times:
            raised.append(times)
            raise KeyError("a bug")
        write(pending)

    monkeypatch.setattr(PendingAppend, "write", fails)
    path, before = AppendPath(tmp_path, LogConfig(), large_bytes=LARGE_BYTES), WRITES.failures
    first, second = path.produce({0: LARGE}), path.produce({0: SMALL})
    assert only(await first).error_code == (ErrorCode.NONE if times == 1 else ErrorCode.UNKNOWN_SERVER_ERROR)
    assert only(await second).base_offset == 1
    assert WRITES.failures == before + times
    await path.close()


async def test_a_view_of_the_receive_buffer_is_copied_before_the_call_ends(tmp_path: Path) -> None:
    files = WriteGate()
    path = AppendPath(tmp_path, LogConfig(), files=files, large_bytes=LARGE_BYTES)
    files.gate.clear()
    answers = [path.produce({0: sent}, owned=False) for sent in (LARGE, SMALL)]
    files.gate.set()
    assert [only(await answer).error_code for answer in answers] == [ErrorCode.NONE] * 2
    await path.close()


async def test_acks_0_closes_the_connection_when_its_large_batch_fails(tmp_path: Path) -> None:
    files = WriteGate()
    path = AppendPath(tmp_path, LogConfig(), files=files, large_bytes=LARGE_BYTES)
    files.full = True
    refused = path.produce({0: LARGE}, acks=0)
    with pytest.raises(ConnectionError, match="acks=0"):
        await refused
    files.full = False
    assert await path.produce({0: LARGE}, acks=0) is None
    await path.close()


async def test_what_needs_the_end_of_the_log_waits_for_the_write(tmp_path: Path) -> None:
    """An inline append (of a coordinator) and a stop see the log after the large append."""
    files = WriteGate()
    path = AppendPath(tmp_path, LogConfig(), files=files, large_bytes=LARGE_BYTES)
    files.gate.clear()
    large = path.produce({0: LARGE})
    threading.Timer(0.05, files.gate.set).start()
    assert path.partition_log().append(SMALL, NOW) == 1
    assert only(await large).base_offset == 0
    files.gate.clear()
    last = path.produce({0: LARGE})
    threading.Timer(0.05, files.gate.set).start()
    await path.close()
    assert only(await last).base_offset == 2


async def test_a_topic_that_is_deleted_during_the_write_ends_it(tmp_path: Path) -> None:
    files = WriteGate()
    path = AppendPath(tmp_path, LogConfig(), files=files, large_bytes=LARGE_BYTES)
    large, behind = path.produce({0: LARGE}), path.produce({0: SMALL})
    path.partitions.remove_topic(TOPIC)
    path.directory.delete_log(TOPIC, 0, NOW)
    assert only(await large).error_code == ErrorCode.NONE, "it was written before the topic went"
    assert only(await behind).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    await path.close()
