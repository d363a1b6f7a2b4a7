"""The line about the progress of an audit: when it is shown, and what it says."""

from odradek.pipeline.audit.progress import AuditProgress

MIB = 1 << 20


class _Clock:
    """A clock that stands until it is set."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_line_is_shown_each_minute() -> None:
    clock, lines = _Clock(), list[str]()
    progress = AuditProgress(lines.append, clock)
    progress.begin(2000 * MIB)
    for _ in range(180):
        clock.now_s += 1
        progress.tell("orders-3", 5 * MIB)
        progress.tell("", 0)
    assert lines == [
        "300 MiB of 2.0 GiB, 5.0 MiB a second, about 5 min 40 s left, now orders-3",
        "600 MiB of 2.0 GiB, 5.0 MiB a second, about 4 min 40 s left, now orders-3",
        "900 MiB of 2.0 GiB, 5.0 MiB a second, about 3 min 40 s left, now orders-3",
    ]


def test_partitions_are_counted_and_tell_the_time_that_is_left_if_no_bytes_do() -> None:
    clock, lines = _Clock(), list[str]()
    progress = AuditProgress(lines.append, clock)
    progress.begin(MIB)
    clock.now_s += 59
    progress.finished(10, 50)
    assert lines == []
    clock.now_s += 1
    progress.finished(20, 50)
    assert lines == ["20 of 50 partitions, about 1 min 30 s left"]
    progress.finished(50, 50)
    assert lines == ["20 of 50 partitions, about 1 min 30 s left"]


def test_before_the_first_byte() -> None:
    assert AuditProgress(print, _Clock()).line() == "nothing is read yet"
