"""Moves of replicas between the log directories of a running broker."""

import logging
import threading
from pathlib import Path

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.topics import DeleteTopicsRequest
from odradek.storage.directory.replica_move import Chunk, ReplicaMove
from support.eventually import eventually

from .two_log_dirs import PARTITIONS, TwoLogDirs


def test_a_replica_moves_with_all_that_is_appended_meanwhile(two: TwoLogDirs) -> None:
    two.fill()
    home = two.home_of("t", 0)
    target = two.other(home)
    values = [b"0"]
    for number in range(300):
        values.append(b"%d" % number * 500)
        assert two.asking.produce("t", 0, values[-1]) == 0
        if number == 100:
            assert two.asking.move("t", 0, str(target)) == 0
    two.moved("t", 0, target)
    assert not (home / "t-0").exists()
    assert len(list(home.glob("t-0.*-delete"))) == 1
    assert two.asking.produce("t", 0, b"last") == 0
    assert two.asking.fetch("t", 0) == (0, [*values, b"last"])
    assert [p.partition_index for p in two.asking.log_dirs()[str(target)].topics[0].partitions].count(0) == 1
    two.broker.kill()
    two.broker.start()
    assert two.home_of("t", 0) == target
    assert two.asking.fetch("t", 0) == (0, [*values, b"last"])
    assert "t 0 " not in (home / "recovery-point-offset-checkpoint").read_text()


def copied(two: TwoLogDirs) -> int:
    """The number of moving replicas that have records already."""
    found = [path for home in (two.a, two.b) for path in home.glob("*-future/*.log")]
    return sum(path.stat().st_size > 0 for path in found)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_so_many_partitions_move_at_a_time(tmp_path: Path, threads: int) -> None:
    """At a rate of one byte per second, a move does not end before the test does."""
    two = TwoLogDirs(tmp_path, {"num.replica.alter.log.dirs.threads": str(threads)})
    try:
        two.fill()
        assert two.configure("replica.alter.log.dirs.io.max.bytes.per.second", "1") == 0
        for index in range(PARTITIONS):
            assert two.asking.move("t", index, str(two.other(two.home_of("t", index)))) == 0
        eventually(f"{threads} moves at once", lambda: copied(two) >= threads)
        assert len([path for home in (two.a, two.b) for path in home.glob("*-future")]) == PARTITIONS
        assert copied(two) == threads
    finally:
        two.broker.stop()


def test_moves_that_can_not_be_are_refused_as_kafka_refuses_them(two: TwoLogDirs) -> None:
    two.fill()
    home = two.home_of("t", 0)
    assert two.asking.move("t", 0, "/nowhere") == ErrorCode.LOG_DIR_NOT_FOUND
    assert two.asking.move("t", 0, two.a.name) == ErrorCode.LOG_DIR_NOT_FOUND
    assert two.asking.move("nope", 0, str(two.a)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert two.asking.move("t", 99, str(two.a)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert two.asking.move("t" * 230, 0, str(two.a)) == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert two.asking.move("t", 0, str(home)) == 0
    assert two.home_of("t", 0) == home


def test_a_deleted_topic_takes_its_move_along(two: TwoLogDirs) -> None:
    two.fill()
    for index in range(PARTITIONS):
        assert two.asking.move("t", index, str(two.other(two.home_of("t", index)))) == 0
    assert two.asking.ask(DeleteTopicsRequest([], ["t"], 10_000), 5).responses[0].error_code == 0

    def has_gone() -> bool:
        return all(path.name.endswith("-delete") for home in (two.a, two.b) for path in home.glob("t-*"))

    eventually("all files have gone", has_gone)


def test_a_move_that_fails_unexpectedly_leaves_the_replica_and_can_be_repeated(
    two: TwoLogDirs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    records = two.fill()
    home = two.home_of("t", 0)
    target = two.other(home)
    bugs = [KeyError("a bug")]
    append = ReplicaMove.append

    def failing(self: ReplicaMove, chunk: Chunk, now_ms: int) -> int:
        if bugs:
            raise bugs.pop()
        return append(self, chunk, now_ms)

    monkeypatch.setattr(ReplicaMove, "append", failing)
    assert two.asking.move("t", 0, str(target)) == 0
    eventually("what was copied is gone", lambda: not bugs and not [*target.glob("t-0.*-future")])
    assert f"t-0 could not be moved to {target}" in caplog.text
    assert two.home_of("t", 0) == home
    assert two.asking.move("t", 0, str(target)) == 0
    two.moved("t", 0, target)
    assert two.asking.fetch("t", 0) == (0, records[0])


@pytest.mark.parametrize("when", ["before the copy reads", "after it has written"])
def test_a_topic_that_is_deleted_during_a_chunk_logs_no_error(
    two: TwoLogDirs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, when: str
) -> None:
    """Both directories stay online, too."""
    two.fill()
    target = two.other(two.home_of("t", 0))
    append = ReplicaMove.append
    has_begun, is_deleted = threading.Event(), threading.Event()

    def waiting(self: ReplicaMove, chunk: Chunk, now_ms: int) -> int:
        copied = append(self, chunk, now_ms) if when == "after it has written" else 0
        has_begun.set()
        is_deleted.wait()
        return copied or append(self, chunk, now_ms)

    monkeypatch.setattr(ReplicaMove, "append", waiting)
    with caplog.at_level(logging.INFO):
        assert two.asking.move("t", 0, str(target)) == 0
        has_begun.wait()
        assert two.asking.ask(DeleteTopicsRequest([], ["t"], 10_000), 5).responses[0].error_code == 0
        is_deleted.set()
        eventually("the copy is gone", lambda: not [*target.glob("t-0.*-future")])
        eventually("the move has ended", lambda: "t-0: the move to" in caplog.text)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert all(one.error_code == 0 for one in two.asking.log_dirs().values())
