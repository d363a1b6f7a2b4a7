"""The last lines of the log, in bounded memory."""

import logging

from odradek.broker.insights.log_ring import LINES_A_SECOND, MOST_LINES, LogRing


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def record(message: str, *arguments: object, level: int = logging.INFO) -> logging.LogRecord:
    return logging.LogRecord("odradek.somewhere", level, "file.py", 1, message, arguments, None)


def test_lines_come_in_order_and_after_a_number() -> None:
    ring = LogRing(Clock())
    for number in range(5):
        ring.emit(record("line %d", number))
    assert [line.message for line in ring.after(0, 3)] == ["line 2", "line 3", "line 4"]
    assert [line.number for line in ring.after(3, 100)] == [4, 5]
    assert ring.after(5, 100) == []
    assert ring.after(0, 0) == []


def test_lines_cannot_forge_others() -> None:
    ring = LogRing(Clock())
    ring.emit(record("group %r", "a\nb\x1b[31m" + "c" * 1000))
    (line,) = ring.after(0, 1)
    assert line.message.isprintable()
    assert len(line.message) < 200
    assert (line.level, line.logger) == ("INFO", "odradek.somewhere")


def test_memory_and_the_lines_of_a_second_are_bounded() -> None:
    clock = Clock()
    ring = LogRing(clock)
    for second in range(20):
        clock.now_s = second
        for _ in range(LINES_A_SECOND + 7):
            ring.emit(record("x" * 10_000))
    lines = ring.after(0, 10**6)
    assert len(lines) == MOST_LINES
    assert lines[-LINES_A_SECOND].left_out == 7
    assert sum(line.left_out for line in lines[-LINES_A_SECOND + 1 :]) == 0
    assert max(len(line.message) for line in lines) < 2_100


def test_a_wrong_log_call_does_not_fail_its_caller(capsys: object) -> None:
    ring = LogRing(Clock())
    ring.emit(record("%d", "no number"))
    assert ring.after(0, 10) == []
