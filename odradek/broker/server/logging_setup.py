"""The log of the broker: one line for each event, as text or as JSON, on standard error.

Owns: the handler that limits the output. The rules are in :mod:`..timers.log_lines`. Invariant: texts of clients can
neither forge a line nor fill the disk.
"""

import asyncio
import contextlib
import json
import logging
import sys
import time
from collections.abc import Callable

from ..timers.log_lines import COUNT_AFTER_S, LeftOut, LineBudgets, message_of, subject_of, traceback_of
from ..timers.work import KindOfWork

COUNTS = KindOfWork("suppressed-log-lines", "writes the counts of suppressed log lines")

TEXT_FORMAT = "[%(asctime)s,%(msecs)03d] %(levelname)s %(message)s (%(name)s)"
"""The layout of Kafka's own log: [2026-01-31 23:59:59,999] INFO … (where)."""


class TextFormatter(logging.Formatter):
    """Kafka's layout; a traceback follows in indented lines."""

    def __init__(self) -> None:
        super().__init__(TEXT_FORMAT, "%Y-%m-%d %H:%M:%S")

    def formatException(self, ei: object) -> str:  # noqa: N802 - logging's name
        """The traceback, escaped and cut."""
        return traceback_of(super().formatException(ei))  # type: ignore[arg-type]


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time (UTC), level, logger, message, and the exception if there is one."""

    converter = staticmethod(time.gmtime)

    def format(self, record: logging.LogRecord) -> str:
        """The line of one event. ``left_out``: the number of suppressed lines of this kind."""
        line: dict[str, object] = {
            "time": f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        left_out = getattr(record, "left_out", None)
        if left_out is not None:
            line["left_out"] = left_out
        if record.exc_info:
            line["exception"] = traceback_of(self.formatException(record.exc_info))
        return json.dumps(line)


class BoundedHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes lines to standard error within the budget of each log call, and counts the others."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        """``clock_s``: a monotonic clock in seconds."""
        super().__init__(sys.stderr)
        self._clock_s = clock_s
        self._budgets = LineBudgets()
        self._is_due = False
        self.later: Callable[[float, Callable[[], None]], object] | None = None
        """Calls back after some seconds, on any thread. None: counts are written with later lines, or at the end."""

    def emit(self, record: logging.LogRecord) -> None:
        """Writes the record, or counts it."""
        now_s = self._clock_s()
        self._write_counts(now_s)
        site = (record.pathname, record.lineno)
        try:
            text = self._budgets.admit(
                site,
                subject_of(record.args),
                (record.name, record.levelno),
                now_s,
                lambda: message_of(record.msg, record.args),
            )
        except Exception:  # noqa: BLE001 - as in logging itself: a wrong log call must not fail its caller
            self.handleError(record)
            return
        if text is None:
            self._count_later()
            return
        written = logging.makeLogRecord(record.__dict__)  # other handlers get the original record
        written.msg, written.args, written.exc_text = text, None, None
        self._budgets.charge(site, text, self._write(written), now_s)

    def close(self) -> None:
        """Writes the remaining counts, at the end of the process."""
        with self._locked():
            self._write_counts(self._clock_s(), at_once=True)
        super().close()

    def _locked(self) -> contextlib.AbstractContextManager[object]:
        return self.lock or contextlib.nullcontext()

    def _count_later(self) -> None:
        if self.later is None or self._is_due:
            return
        with contextlib.suppress(RuntimeError):  # the event loop is closed: the count is written at the end
            self.later(COUNT_AFTER_S, self._on_time)
            self._is_due = True

    def _on_time(self) -> None:
        with self._locked():
            self._is_due = False
            self._write_counts(self._clock_s())
            if self._budgets.is_counting:
                self._count_later()

    def _write_counts(self, now_s: float, *, at_once: bool = False) -> None:
        if not self._budgets.is_counting:
            return
        for kind, left_out in self._budgets.counts(now_s, at_once=at_once):
            self._write(_record_of(kind, left_out))

    def _write(self, record: logging.LogRecord) -> int:
        """Writes one record. Returns its approximate size in bytes."""
        try:
            line = self.format(record) + self.terminator
            self.stream.write(line)
            self.flush()
        except Exception:  # noqa: BLE001 - as in logging itself: a log that can't be written must not fail its caller
            self.handleError(record)
            return 0
        return len(line)


def _record_of(kind: tuple[str, int], left_out: LeftOut) -> logging.LogRecord:
    name, level = kind
    record = logging.LogRecord(name, level, "", 0, str(left_out), None, None)
    record.left_out = left_out.more
    return record


def set_up_logging(level: str, form: str) -> None:
    """Sends the log to standard error. ``level``: debug, info, warning or error; ``form``: text or json."""
    handler = BoundedHandler()
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def count_lines_on(loop: asyncio.AbstractEventLoop) -> None:
    """Makes the event loop write the counts of suppressed lines, a second after the first of them."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, BoundedHandler):
            handler.later = lambda delay_s, write: COUNTS.soon_in(loop, COUNTS.later, delay_s, write)
