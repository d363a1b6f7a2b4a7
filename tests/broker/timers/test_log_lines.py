"""Content and number of log lines are bounded: the rules with a clock of the test, then a hostile client."""

import io
import json
import logging
import sys
from collections.abc import Callable
from random import Random

import pytest

from odradek.broker.server.logging_setup import BoundedHandler, JsonFormatter, TextFormatter
from odradek.broker.timers.log_lines import (
    BURST_BYTES,
    BYTES_A_SECOND,
    LINE_MAX_CHARACTERS,
    NEW_SUBJECTS_A_SECOND,
    NEW_SUBJECTS_AT_ONCE,
    SUBJECT_BURST_BYTES,
    SUBJECT_BYTES_A_SECOND,
    SUBJECTS_MAX,
    TEXT_MAX_CHARACTERS,
    TRACEBACK_MAX_LINES,
    message_of,
    quoted,
    quoted_list,
)

FORGED = "g\n[2026-01-31 23:59:59,999] INFO forged (odradek.broker)\r\x1b[2J\u2028\u202e"


class Log:
    """A logger with the handler, and a clock that the test moves."""

    def __init__(self, formatter: logging.Formatter) -> None:
        self.now_s = 0.0
        self.handler = BoundedHandler(lambda: self.now_s)
        self.handler.setFormatter(formatter)
        self.stream = self.handler.stream = io.StringIO()
        self.logger = logging.Logger("test")
        self.logger.addHandler(self.handler)
        self.due: list[tuple[float, Callable[[], None]]] = []
        self.handler.later = lambda delay_s, write: self.due.append((self.now_s + delay_s, write))

    def pass_time(self, seconds: float) -> None:
        """Moves the clock, and calls the timers that are due."""
        end = self.now_s + seconds
        while ready := [one for one in self.due if one[0] <= end]:
            first = min(ready, key=lambda one: one[0])
            self.due.remove(first)
            self.now_s = max(self.now_s, first[0])
            first[1]()
        self.now_s = end

    @property
    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()


@pytest.fixture
def log() -> Log:
    return Log(logging.Formatter("%(levelname)s %(message)s"))


def test_texts_of_clients_are_quoted_escaped_and_cut() -> None:
    assert quoted(FORGED) == repr(FORGED)
    assert quoted("x" * 1_000) == f"'{'x' * TEXT_MAX_CHARACTERS}… (900 more)'"
    assert message_of("group %r has %d members %s", ("x" * 101, 5, "as it is")) == (
        f"group '{'x' * 100}… (1 more)' has 5 members as it is"
    )
    assert message_of("without %s", (["a" * 200] * 12,)).endswith(f"'{'a' * 100}… (100 more)', 2 more]")
    assert quoted_list(["m1", "m2"]) == "['m1', 'm2']"


def test_a_line_is_one_line_whatever_it_is_made_of() -> None:
    for template, arguments in [
        ("%s", (FORGED,)),
        (FORGED, ()),
        ("%s", (ValueError(FORGED),)),
        ("%(a)s", {"a": FORGED}),
    ]:
        assert message_of(template, arguments).isprintable()
        assert len(message_of(template, arguments).splitlines()) == 1
    assert len(message_of("%s", ("x" * 1_000_000,))) < LINE_MAX_CHARACTERS + 30


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()], ids=["text", "json"])
def test_a_traceback_forges_no_line(formatter: logging.Formatter) -> None:
    log = Log(formatter)
    for text in (FORGED, "line\n" * 100_000):
        try:
            raise ValueError(text)
        except ValueError:
            log.logger.exception("failed")
    assert log.lines
    assert len(log.lines) <= 2 * (TRACEBACK_MAX_LINES + 3)
    for line in log.lines:
        assert line.startswith(("    ", "{")) or "ERROR failed" in line
        assert line.isprintable()


def test_equal_lines_are_counted_and_written_once_a_second(log: Log) -> None:
    for _ in range(1_235):
        log.logger.warning("closing the connection of %s", "10.0.0.1")
    assert log.lines == ["WARNING closing the connection of 10.0.0.1"]
    log.pass_time(1)
    assert log.lines[1:] == ["WARNING closing the connection of 10.0.0.1 (repeated 1,234 times)"]
    assert not log.due, "nothing is due when nothing is counted"


def test_lines_of_one_kind_are_counted_once_their_budget_is_spent(log: Log) -> None:
    sizes = []
    for second in range(100):
        before = len(log.stream.getvalue())
        for number in range(1_000):
            log.logger.info("group %r rebalances", f"{second}-{number}-" + "x" * 80)
        log.pass_time(1)
        sizes.append(len(log.stream.getvalue()) - before)
    # Each line has another group, and each new group has its own limit of bytes.
    line_bytes = 140
    assert sizes[0] < BURST_BYTES + 500 + NEW_SUBJECTS_AT_ONCE * line_bytes
    assert sum(sizes[1:]) < 105 * (BYTES_A_SECOND + NEW_SUBJECTS_A_SECOND * SUBJECT_BURST_BYTES)
    written = sum(1 for line in log.lines if "more" not in line)
    counted = sum(int(line.rpartition("(")[2].split()[0].replace(",", "")) for line in log.lines if "more" in line)
    assert written + counted == 100_000, "each line is either written or counted"
    log.logger.info("another line of another kind")
    assert log.lines[-1] == "INFO another line of another kind"


def rebalance(log: Log, group_id: str, generation: int) -> None:
    """Logs the two lines of one rebalance."""
    log.logger.info("group %r rebalances after generation %d: %s", group_id, generation, "a member joins " + "m" * 40)
    log.logger.info("group %r, generation %d: %d members", group_id, generation + 1, 5)


def test_rebalances_of_many_groups_at_once_are_all_written(log: Log) -> None:
    groups = [f"group-of-service-{number}" for number in range(60)]
    for generation in range(3):  # all services restart, one every ten minutes
        for group_id in groups:
            rebalance(log, group_id, generation)
        log.pass_time(600)
    assert len(log.lines) == 3 * 60 * 2
    assert not [line for line in log.lines if "more lines" in line]


@pytest.mark.parametrize("names", ["one", pytest.param("new ones", marks=pytest.mark.ci)])
def test_a_bad_client_hides_no_rebalance_of_others_and_writes_little(log: Log, names: str) -> None:
    groups = [f"honest-{number}" for number in range(10)]
    for group_id in groups:
        rebalance(log, group_id, 0)
    log.pass_time(60)
    before = len(log.stream.getvalue())
    honest = 0
    for second in range(1_000):
        for number in range(100):
            rebalance(log, "bad" if names == "one" else f"bad-{second}-{number}", number)
        if second % 60 == 0:
            for group_id in groups:
                rebalance(log, group_id, second + 1)
            honest += 2 * len(groups)
        log.pass_time(1)
    written = [line for line in log.lines[20:] if "'honest-" in line and "more lines" not in line]
    assert len(written) == honest
    bad_bytes = len(log.stream.getvalue()) - before - sum(len(line) + 1 for line in written)
    assert bad_bytes < 2 * BURST_BYTES + SUBJECTS_MAX * SUBJECT_BURST_BYTES + 1_000 * 1_500


def test_all_subjects_together_have_a_bound() -> None:
    assert SUBJECTS_MAX * SUBJECT_BYTES_A_SECOND + NEW_SUBJECTS_A_SECOND * SUBJECT_BURST_BYTES < 4_000


def test_what_is_counted_at_the_end_is_written(log: Log) -> None:
    log.handler.later = None
    for _ in range(3):
        log.logger.error("the same")
    log.handler.close()
    assert log.lines == ["ERROR the same", "ERROR the same (repeated 2 times)"]


def test_a_text_that_is_left_out_is_never_made(log: Log) -> None:
    class Costly:
        made = 0

        def __str__(self) -> str:
            Costly.made += 1
            return "x" * 1_000 + str(Costly.made)

    for _ in range(1_000):
        log.logger.warning("%s", Costly())  # no text: it has no subject
    assert Costly.made <= BURST_BYTES // 1_000 + 1


def test_each_line_is_written_or_counted_for_any_sequence() -> None:
    seed = Random().randrange(1 << 32)
    random = Random(seed)
    log = Log(logging.Formatter("%(message)s"))
    sent = 0
    for _ in range(5_000):
        kind = random.randrange(3)
        text = random.choice("abc") * random.choice([1, 50, 500])
        if kind == 0:
            log.logger.info("one %r", text)
        elif kind == 1:
            log.logger.info("two %r", text)
        else:
            log.logger.info("three %s", text)
        sent += 1
        if random.random() < 0.05:
            log.pass_time(random.choice([0.1, 1, 10]))
    log.handler.close()
    marks = ("(repeated ", " more lines of this kind)")
    counted = 0
    for line in (line for line in log.lines if any(mark in line for mark in marks)):
        counted += int(line.rpartition("(")[2].removeprefix("repeated ").split()[0].replace(",", ""))
    written = sum(1 for line in log.lines if not any(mark in line for mark in marks))
    assert written + counted == sent, f"Random({seed}) replays it"


def test_json_lines_carry_the_count() -> None:
    log = Log(JsonFormatter())
    for _ in range(5):
        log.logger.warning("the same")
    log.pass_time(1)
    first, second = map(json.loads, log.lines)
    assert first["message"] == "the same"
    assert (second["message"], second["left_out"]) == ("the same (repeated 4 times)", 4)


def test_a_wrong_log_call_fails_nobody(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    log.logger.info("%d", "not a number")
    assert not log.lines
    assert "Logging error" in capsys.readouterr().err or not logging.raiseExceptions
    assert sys.exc_info() == (None, None, None)
