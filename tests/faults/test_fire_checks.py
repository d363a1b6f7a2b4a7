"""The checks of histories under fire: a clean history has no anomaly, and each injected one is found by its name."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE

import pytest

from support.brokers.jumping_clock import JumpingClock
from support.fire.checks import CHECKS, anomalies, transfer_anomalies
from support.fire.history import (
    ASSIGNED_READER,
    GROUP_READER,
    IDEMPOTENT,
    PLAIN,
    TRANSACTIONAL,
    UNCOMMITTED_READER,
    WATCHER,
    History,
    Offsets,
    Place,
    Poll,
    Send,
    Started,
    Transaction,
    read_journals,
)
from support.fire.worker import TRANSACTION_TIMEOUT_MS, Specification
from support.fire.worker_process import TESTS, FireWorker


def clean() -> History:
    """A clean history: records 1 and 2 are plain, 11 and 12 idempotent, 21 and 22 committed, 31 aborted, 41 unknown;
    two readers.
    """
    history = History()
    history.sends = [
        Send("p", PLAIN, 1, 0, None),
        Send("p", PLAIN, 2, 0, None),
        Send("i", IDEMPOTENT, 11, 0, None),
        Send("i", IDEMPOTENT, 12, 0, None),
        Send("t", TRANSACTIONAL, 21, 1, "t/1"),
        Send("t", TRANSACTIONAL, 22, 1, "t/1"),
        Send("t", TRANSACTIONAL, 31, 1, "t/2"),
        Send("t", TRANSACTIONAL, 41, 1, "t/3"),
    ]
    places = {1: (0, 0), 2: (0, 1), 11: (0, 2), 12: (0, 3), 21: (1, 0), 22: (1, 1), 31: (1, 3), 41: (1, 5)}
    history.acknowledged = {value: Place(*place) for value, place in places.items()}
    history.transactions = {
        "t/1": Transaction("t/1", "t", [21, 22], 100, "committed"),
        "t/2": Transaction("t/2", "t", [31], None, "aborted"),
        "t/3": Transaction("t/3", "t", [41], 300, None),
    }
    history.started = [Started("t", "id", 1, 2), Started("u", "id", 400, 410)]
    history.final = {Place(*places[value]): value for value in (1, 2, 11, 12, 21, 22, 41)}
    seen = [(Place(*places[value]), value) for value in (1, 2, 11, 12, 21, 22, 41)]
    history.polls = [
        Poll("a", ASSIGNED_READER, 350, seen[:3], True),
        Poll("a", ASSIGNED_READER, 360, seen[3:], False),
        Poll("g", GROUP_READER, 350, seen[:2], True),
        Poll("g", GROUP_READER, 360, seen[1:], True),
    ]
    history.everything = {**history.final, Place(1, 3): 31}
    history.glimpses = [Poll("u", UNCOMMITTED_READER, 350, [(Place(0, 0), 1), (Place(1, 3), 31)], True)]
    history.offsets = [
        Offsets("w", WATCHER, None, {0: 4}),
        Offsets("w", WATCHER, None, {0: 4, 1: 6}),
        Offsets("w", WATCHER, "g", {0: 1}),
        Offsets("m", GROUP_READER, "g", {0: 4}),
    ]
    history.committed = {"g": {0: 4}}
    return history


def also_polled(history: History, *records: tuple[int, int, int], at: int = 900) -> None:
    """One more poll of the reader of all partitions, from its position."""
    found = [(Place(partition, offset), value) for partition, offset, value in records]
    history.polls.append(Poll("a", ASSIGNED_READER, at, found, False))


def lose(history: History) -> None:
    del history.final[Place(0, 1)]


def lose_the_last(history: History) -> None:
    del history.final[Place(0, 3)]


def repeat(history: History) -> None:
    history.final[Place(0, 4)] = 12


def show_aborted(history: History) -> None:
    history.final[Place(1, 3)] = 31


def show_too_early(history: History) -> None:
    history.transactions["t/3"].committing_at = 365


def tear(history: History) -> None:
    history.sends.append(Send("t", TRANSACTIONAL, 42, 1, "t/3"))
    history.transactions["t/3"].values.append(42)


def two_at_one_place(history: History) -> None:
    history.acknowledged[1] = Place(0, 2)


def go_back(history: History) -> None:
    also_polled(history, (0, 3, 12))


def go_back_within(history: History) -> None:
    history.polls[0].records.reverse()


def skip(history: History) -> None:
    history.polls[1].records.pop(0)
    also_polled(history, (0, 4, 13))
    history.final[Place(0, 4)] = 13


def skip_within(history: History) -> None:
    del history.polls[0].records[1]


def send_back(history: History) -> None:
    history.sends[2], history.sends[3] = history.sends[3], history.sends[2]


def send_back_within(history: History) -> None:
    history.sends[4], history.sends[5] = history.sends[5], history.sends[4]


def commit_as_zombie(history: History) -> None:
    history.transactions["t/3"].outcome = "committed"
    history.started[1] = Started("u", "id", 200, 210)


def keep_from_group(history: History) -> None:
    for poll in history.polls[2:]:
        poll.records[:] = [(place, value) for place, value in poll.records if value != 41]


def change_what_was_seen(history: History) -> None:
    history.everything[Place(1, 3)] = 32


def lower_the_high_watermark(history: History) -> None:
    history.offsets.append(Offsets("w", WATCHER, None, {1: 5}))


def lose_a_commit(history: History) -> None:
    history.committed["g"][0] = 1


PLANTED: dict[str, Callable[[History], None]] = {
    "lost-write": lose,
    "unseen": lose_the_last,
    "duplicate": repeat,
    "G1a": show_aborted,
    "precommitted-read": show_too_early,
    "torn-transaction": tear,
    "inconsistent-offsets": two_at_one_place,
    "nonmonotonic-poll": go_back,
    "int-nonmonotonic-poll": go_back_within,
    "poll-skip": skip,
    "int-poll-skip": skip_within,
    "nonmonotonic-send": send_back,
    "int-nonmonotonic-send": send_back_within,
    "zombie-commit": commit_as_zombie,
    "unseen-by-group": keep_from_group,
    "changed-read": change_what_was_seen,
    "falling-high-watermark": lower_the_high_watermark,
    "falling-commit": lose_a_commit,
}


def test_a_clean_history_has_no_anomaly() -> None:
    assert not anomalies(clean())


def test_each_check_has_a_planted_fault() -> None:
    assert PLANTED.keys() == CHECKS.keys()


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str) -> None:
    history = clean()
    PLANTED[name](history)
    assert name in anomalies(history)


def test_a_commit_that_goes_back_and_comes_again_is_found() -> None:
    history = clean()
    history.offsets += [Offsets("w", WATCHER, "g", {0: 3}), Offsets("w", WATCHER, "g", {0: 2})]
    assert list(anomalies(history)) == ["falling-commit"]


def test_plain_writers_may_repeat_and_reorder() -> None:
    history = clean()
    history.final[Place(0, 4)] = 2
    history.polls.append(Poll("g", GROUP_READER, 999, [(Place(0, 4), 2)], True))
    history.sends[0], history.sends[1] = history.sends[1], history.sends[0]
    assert not anomalies(history)


def test_who_takes_its_id_back_is_no_zombie() -> None:
    history = clean()
    commit_as_zombie(history)
    history.started.append(Started("t", "id", 220, 230))
    assert not anomalies(history)


def test_a_group_may_read_again_after_an_assignment() -> None:
    history = clean()
    history.polls.append(Poll("g", GROUP_READER, 999, [(Place(0, 0), 1), (Place(0, 1), 2)], True))
    assert not anomalies(history)


def test_journals_become_a_history(tmp_path: Path) -> None:
    lines: list[list[object]] = [
        [1, "starting", TRANSACTIONAL, "id"],
        [2, "started", TRANSACTIONAL, "id"],
        [3, "begin", "t/1"],
        [4, "send", 21, 1, "t/1"],
        [5, "acked", 21, 1, 7],
        [6, "committing", "t/1"],
        [7, "committed", "t/1"],
        [8, "poll", [[1, 7, 21]]],
        [9, "assigned", [1]],
        [10, "poll", [[1, 7, 21]]],
    ]
    journal = tmp_path / "one.journal"
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines) + '[11, "se')
    history = read_journals([journal])
    assert history.started == [Started("one", "id", 1, 2)]
    assert history.promised() == [Send("one", TRANSACTIONAL, 21, 1, "t/1")]
    assert history.acknowledged == {21: Place(1, 7)}
    assert history.transactions["t/1"] == Transaction("t/1", "one", [21], 6, "committed")
    assert [(poll.at, poll.after_assignment) for poll in history.polls] == [(8, True), (10, True)]


TRANSFERS = {Place(0, 4): (1, 0, 1, 5), Place(1, 9): (2, 1, 2, 7)}
POSTINGS = [(1, 0, -5), (1, 1, 5), (2, 1, -7), (2, 2, 7)]
BALANCES = {0: 10, 1: 10, 2: 10}


def test_transfers_that_were_done_once() -> None:
    assert not transfer_anomalies(TRANSFERS, POSTINGS, BALANCES, {})


@pytest.mark.parametrize(
    ("names", "postings"),
    [
        ({"torn-transfer", "constant-sum"}, POSTINGS[:3]),
        ({"lost-transfer"}, POSTINGS[:2]),
        ({"repeated-transfer"}, [*POSTINGS, *POSTINGS[:2]]),
        ({"unasked-transfer"}, [*POSTINGS, (3, 0, -1), (3, 1, 1)]),
    ],
)
def test_transfers_that_were_not(names: set[str], postings: list[tuple[int, int, int]]) -> None:
    assert set(transfer_anomalies(TRANSFERS, postings, BALANCES, {})) == names


def test_a_transfer_that_was_requested_twice() -> None:
    twice = {**TRANSFERS, Place(0, 5): (1, 0, 1, 5)}
    postings = [*POSTINGS, *POSTINGS[:2]]
    apart = {Place(0, 4): (1000, 0), Place(0, 5): (1000, 1)}
    assert not transfer_anomalies(twice, postings, BALANCES, apart), "librdkafka sent it under two epochs"
    assert set(transfer_anomalies(twice, POSTINGS, BALANCES, apart)) == {"missing-transfer"}
    same = {Place(0, 4): (1000, 0), Place(0, 5): (1000, 0)}
    assert set(transfer_anomalies(twice, postings, BALANCES, same)) == {"duplicate-request"}


@pytest.mark.parametrize(
    ("seconds_late", "clocks_were_wrong_until_ns", "is_excused"), [(-1, 0, False), (1, 0, True), (-1, 1, True)]
)
def test_who_is_fenced_is_excused_when_its_transaction_was_over(
    tmp_path: Path, seconds_late: int, clocks_were_wrong_until_ns: int, is_excused: bool
) -> None:
    journal = tmp_path / "teller.journal"
    worker = FireWorker("nowhere", journal, Specification("teller", "t", 1), [sys.executable, "-c", ""])
    worker.wait()
    assert not worker.outlasted_its_transaction(1), "it has not been fenced"
    fenced_ns = TRANSACTION_TIMEOUT_MS * 1_000_000 + seconds_late * 1_000_000_000
    journal.write_text(f'[0, "told", 10]\n[{fenced_ns}, "fenced"]\n')
    assert worker.outlasted_its_transaction(clocks_were_wrong_until_ns) == is_excused


ASKED_FOR_ITS_CLOCK = """
import sys, time
from pathlib import Path
from support.brokers.jumping_clock import wrong_clock
wrong_clock(Path(sys.argv[1]))
from odradek.protocol.common.wall_clock import clock_ms
for _ in sys.stdin:
    print(round(clock_ms() / 1000 - time.clock_gettime(time.CLOCK_REALTIME), 1), flush=True)
"""


def test_a_clock_jumps_while_its_process_runs(tmp_path: Path) -> None:
    clock = JumpingClock(tmp_path / "clock")
    command = [sys.executable, "-c", ASKED_FOR_ITS_CLOCK, str(clock.path)]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    with subprocess.Popen(command, text=True, stdin=PIPE, stdout=PIPE, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for wrong_by_s in (600, -600, 0):
            clock.jump(wrong_by_s)
            print("?", file=process.stdin, flush=True)
            assert abs(float(process.stdout.readline()) - wrong_by_s) < 300


def test_a_record_that_its_producer_sent_under_two_epochs_is_no_duplicate() -> None:
    """A broker cannot recognize a batch with another producer epoch. With the same one it is a duplicate."""
    history = clean()
    repeat(history)
    value = next(value for value in history.final.values() if list(history.final.values()).count(value) > 1)
    first, second = (place for place, one in history.final.items() if one == value)
    history.writers = {first: (1000, 0), second: (1000, 1)}
    assert "duplicate" not in anomalies(history)
    history.writers[second] = history.writers[first]
    assert "duplicate" in anomalies(history)
