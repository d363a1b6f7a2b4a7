"""The core of ``odradek verify``: a run without a fault has no finding, and each injected fault has its finding."""

import os
import re
from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest

from odradek.client.commands.latencies import FIRST_WIDTH_S, POINTS_MAX, Latencies, LatencySeries
from odradek.client.commands.verify.checker import EXAMPLES_MAX, Checker, RecordFate, VerifyFindingKind
from odradek.client.commands.verify.plan import KEYS, key_of, parsed, value_of
from odradek.client.commands.verify.report import report_lines, report_of
from odradek.client.commands.verify.report_page import page, plot

RECORDS, PARTITIONS = 400, 3
SEEDS = [int(os.environ["ODRADEK_VERIFY_SEED"])] if "ODRADEK_VERIFY_SEED" in os.environ else range(40)


class Run:
    """A run without a fault: transactions and single records, some of them refused, aborted, or without an answer."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.checker = Checker(KEYS)
        self.logs: list[dict[int, int]] = [{} for _ in range(PARTITIONS)]
        """For each partition: offset -> the number of the stored record, if it is visible."""
        self.next_offsets = [self.random.randrange(1_000) for _ in range(PARTITIONS)]
        self.places: dict[int, tuple[int, int]] = {}
        """The places of the records that must exist."""
        self.hidden: list[int] = []
        self.refused: list[int] = []
        self.in_doubt: list[int] = []
        self.late_acknowledgements: list[tuple[int, int, int]] = []
        while self.checker.count < RECORDS:
            self.random.choice((self.single, self.single, self.transaction))()
        for late in self.late_acknowledgements:
            self.checker.acknowledged(*late)
        self.unfollowed: set[int] = set()

    def store(self, number: int, *, visible: bool = True) -> tuple[int, int]:
        partition = number % PARTITIONS
        offset = self.next_offsets[partition]
        self.next_offsets[partition] += 1
        if visible:
            self.logs[partition][offset] = number
        return partition, offset

    def single(self) -> None:
        number = self.checker.sent()
        outcome = self.random.random()
        if outcome < 0.05:
            self.checker.refused(number)
            self.refused.append(number)
        elif outcome < 0.10:
            self.store(number)  # its answer is lost
        elif outcome > 0.15:  # otherwise it is lost without an answer
            place = self.store(number)
            self.checker.acknowledged(number, *(place if outcome < 0.98 else (place[0], -1)))
            if outcome < 0.98:
                self.places[number] = place

    def transaction(self) -> None:
        first, outcome = self.checker.count, self.random.choice(("committed", "aborted", "there", "not there"))
        numbers = [self.checker.sent() for _ in range(self.random.randrange(3, 12))]
        for number in numbers:
            place = self.store(number, visible=outcome in ("committed", "there"))
            if outcome != "committed" and number == numbers[-1]:
                self.late_acknowledgements.append((number, *place))
            else:
                self.checker.acknowledged(number, *place)
            if outcome == "committed":
                self.places[number] = place
        if outcome == "aborted":
            self.checker.aborted(first, self.checker.count)
            self.hidden += numbers
        elif outcome != "committed":
            self.checker.in_doubt(first, self.checker.count)
            self.in_doubt += numbers if outcome == "there" else []

    def owed(self) -> tuple[int, int, int]:
        """A record that must exist, and its place."""
        number = self.random.choice(sorted(self.places))
        return number, *self.places[number]

    def findings(self) -> dict[VerifyFindingKind, int]:
        for log in self.logs:
            for number in log.values():
                if number not in self.unfollowed:
                    self.checker.followed(number)
        self.checker.followed_to_the_end()
        self.read()
        return {finding.kind: finding.count for finding in self.checker.findings()}

    def read(self) -> None:
        self.checker.begin_reading()
        for partition, log in enumerate(self.logs):
            for offset in sorted(log):
                self.checker.found(log[offset], partition, offset)

    def replays(self, seed: int) -> str:
        return f"ODRADEK_VERIFY_SEED={seed} .venv/bin/python -m pytest -q tests/client/commands/test_verify_checker.py"


def lose(run: Run) -> None:
    number, partition, offset = run.owed()
    del run.logs[partition][offset]
    run.unfollowed.add(number)


def lose_what_was_read(run: Run) -> None:
    number, partition, offset = run.owed()
    run.checker.followed(number)
    del run.logs[partition][offset]


def lose_what_was_read_but_not_acknowledged(run: Run) -> None:
    number = run.checker.sent()
    run.checker.followed(number)


def duplicate(run: Run) -> None:
    number, partition, _ = run.owed()
    run.logs[partition][run.next_offsets[partition]] = number


def duplicate_in_another_partition(run: Run) -> None:
    number, partition, _ = run.owed()
    other = (partition + 1) % PARTITIONS
    run.logs[other][run.next_offsets[other]] = number


def reorder(run: Run) -> None:
    """Exchanges two neighbouring records in the log and in their acknowledgements."""
    for partition, log in enumerate(run.logs):
        offsets = sorted(log)
        for one, two in pairwise(offsets):
            if log[one] in run.places and log[two] in run.places:
                log[one], log[two] = log[two], log[one]
                run.checker.acknowledged(log[one], partition, one)
                run.checker.acknowledged(log[two], partition, two)
                return


def show_an_aborted_one(run: Run) -> None:
    number = run.checker.sent()
    place = run.store(number)
    run.checker.acknowledged(number, *place)
    run.checker.aborted(number, number + 1)


def show_an_aborted_one_for_a_while(run: Run) -> None:
    number = run.hidden[0] if run.hidden else run.checker.sent()
    run.checker.aborted(number, number + 1)
    run.checker.followed(number)


def tear_a_transaction(run: Run) -> None:
    numbers = [run.checker.sent() for _ in range(4)]
    for number in numbers:
        run.checker.acknowledged(number, *run.store(number, visible=number != numbers[2]))
    run.checker.in_doubt(numbers[0], numbers[-1] + 1)


def store_a_refused_one(run: Run) -> None:
    number = run.checker.sent()
    run.store(number)
    run.checker.refused(number)


def misplace(run: Run) -> None:
    number, partition, offset = run.owed()
    run.checker.acknowledged(number, partition, offset + 1)


def skip(run: Run) -> None:
    run.unfollowed.add(run.owed()[0])


PLANTED: list[tuple[Callable[[Run], None], VerifyFindingKind]] = [
    (lose, VerifyFindingKind.LOST),
    (lose_what_was_read, VerifyFindingKind.LOST),
    (lose_what_was_read_but_not_acknowledged, VerifyFindingKind.LOST),
    (duplicate, VerifyFindingKind.DUPLICATE),
    (duplicate_in_another_partition, VerifyFindingKind.DUPLICATE),
    (reorder, VerifyFindingKind.REORDERED),
    (show_an_aborted_one, VerifyFindingKind.ABORTED),
    (show_an_aborted_one_for_a_while, VerifyFindingKind.ABORTED),
    (tear_a_transaction, VerifyFindingKind.TORN),
    (store_a_refused_one, VerifyFindingKind.REFUSED),
    (misplace, VerifyFindingKind.MISPLACED),
    (skip, VerifyFindingKind.SKIPPED),
]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_without_a_fault_has_no_finding(seed: int) -> None:
    run = Run(seed)
    assert run.findings() == {}, run.replays(seed)
    assert run.checker.read == sum(len(log) for log in run.logs)
    assert sum(run.checker.of_fate(fate) for fate in RecordFate) == run.checker.count


@pytest.mark.parametrize(("plant", "kind"), PLANTED, ids=lambda one: getattr(one, "__name__", ""))
def test_each_fault_is_found_and_no_other(plant: Callable[[Run], None], kind: VerifyFindingKind) -> None:
    for seed in SEEDS:
        run = Run(seed)
        plant(run)
        assert run.findings() == {kind: 1}, run.replays(seed)


def test_what_was_not_read_is_not_lost() -> None:
    """Records of a partition that could not be read to its end are unknown. Those of other partitions are checked."""
    run = Run(0)
    for log in run.logs:
        log.clear()
    run.read()
    for partition in (0, 1):
        run.checker.unread(partition, "no leader")
    found = {finding.kind: finding for finding in run.checker.findings()}
    assert found[VerifyFindingKind.UNREAD].count == 2
    assert found[VerifyFindingKind.UNREAD].examples == ("partition 0: no leader", "partition 1: no leader")
    assert found[VerifyFindingKind.LOST].count == run.checker.of_fate(RecordFate.STORED) - sum(
        run.checker._fates[number] == RecordFate.STORED and number % PARTITIONS != 2
        for number in range(run.checker.count)
    )
    assert len(found[VerifyFindingKind.LOST].examples) == EXAMPLES_MAX
    run.checker.begin_reading()
    assert VerifyFindingKind.UNREAD not in {finding.kind for finding in run.checker.findings()}, (
        "a new reading forgets the old one"
    )


def test_a_run_without_an_acknowledgement_has_verified_nothing() -> None:
    checker = Checker(KEYS)
    checker.refused(checker.sent())
    checker.begin_reading()
    assert [finding.kind for finding in checker.findings()] == [VerifyFindingKind.NOTHING]


def test_only_whole_records_of_the_run_are_taken() -> None:
    value = value_of("run-1", 17, 5_000)
    assert parsed("run-1", key_of(17), value) == (17, 5_000)
    for run, key, other in (
        ("run-2", key_of(17), value),
        ("run-1", key_of(18), value),
        ("run-1", None, value),
        ("run-1", key_of(17), None),
        ("run-1", key_of(17), value[:-1]),
        ("run-1", key_of(17), value.replace(b"17", b"-1")),
        ("run-1", key_of(17), b"run-1 17"),
    ):
        assert parsed(run, key, other) is None


def test_the_latencies_of_a_long_run_share_points() -> None:
    series, whole = LatencySeries(), Latencies()
    for second in range(4 * POINTS_MAX):
        series.add(second, second % 50)
        whole.add(second % 50)
    assert len(series.points) <= POINTS_MAX
    assert series.width_s == FIRST_WIDTH_S * 16
    merged = Latencies()
    for point in series.points.values():
        merged.merge(point)
    for latencies in (merged, series.all):
        assert latencies.histogram() == whole.histogram()
        assert (latencies.mean_ms, latencies.max_ms) == (whole.mean_ms, whole.max_ms)


@pytest.mark.parametrize(
    ("seconds", "labels"),
    [([0, 7], [0, 1, 2, 3, 4, 5, 6, 7]), ([40.25, 119], [50, 60, 70, 80, 90, 100, 110]), ([0.25], [0.25, 0.5])],
)
def test_the_times_of_the_plot_are_round(seconds: list[float], labels: list[float]) -> None:
    series = LatencySeries()
    for second in seconds:
        series.add(second, 1.0)
    assert [float(text) for text in re.findall(r">([\d.]+) s</text>", plot(series))] == labels


def test_the_result_is_text_and_a_page() -> None:
    run = Run(3)
    for _ in range(EXAMPLES_MAX + 2):
        store_a_refused_one(run)
    assert run.findings() == {VerifyFindingKind.REFUSED: EXAMPLES_MAX + 2}
    series = LatencySeries()
    for second, latency_ms in ((0, 0.0), (1, 3.5), (7, 12_000.0)):
        series.add(second, latency_ms)
    report = report_of("<topic>", PARTITIONS, 8.25, run.checker, series)
    lines = report_lines(report)
    assert lines[0] == "<topic>: 3 partitions, 8.2 s"
    assert lines[1].startswith(
        f"records: {run.checker.count} sent, {run.checker.of_fate(RecordFate.STORED)} acknowledged, "
    )
    assert "7 refused by the broker, and in the topic" in lines
    assert lines[-2:] == ["  and 2 more", "FAILED: 1 kind of findings"]
    html = page(report)
    assert "&lt;topic&gt;" in html
    assert "<topic>" not in html
    assert html.count("<circle") == 3 * 3 + 3
    assert "7 s: max 12000.0 ms of 1 records" in html
    assert "http" not in html, "self-contained"
    assert "<script" not in html
