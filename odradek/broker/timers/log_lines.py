"""Limits the content of log lines, and the number of lines from one place in the code.

Pure. Owns: the escaping and cutting of text that clients send, the budget of each log call. Never does: I/O, reading a
clock. Invariants: a line has printable characters only, so no client can forge a second one; a log call writes at most
`BURST_BYTES` at once and `BYTES_A_SECOND` on average. Beyond that, a line is written only if its subject has bytes
left: each of at most `SUBJECTS_MAX` subjects has `SUBJECT_BURST_BYTES` at once and `SUBJECT_BYTES_A_SECOND` on average,
so a group that rebalances all the time does not hide the others. Memory is bounded by the number of log calls in the
code and of subjects. Suppressed lines are counted, and the count is logged.
"""

import codecs
import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

ESCAPE = codecs.lookup("unicode_escape").encode
"""Looked up here, since the first look-up imports a module: a line is written even if no descriptor is left."""
TEXT_MAX_CHARACTERS = 100
"""The longest text of a client in a line: an argument of a `%r`."""
LIST_MAX_TEXTS = 10
"""The most texts of a list in a line."""
LINE_MAX_CHARACTERS = 2_000
TRACEBACK_MAX_LINES = 60
BURST_BYTES = 6_000
"""Bytes that one log call may write at once, such as 50 lines of 120 bytes when 50 partitions are loaded."""
BYTES_A_SECOND = 250
"""Bytes that one log call may write on average. A client can trigger about twenty log calls: a few kB a second in
total.
"""
SUBJECTS_MAX = 128
"""The number of subjects with bytes of their own. A new one replaces the least recently used one."""
SUBJECT_BURST_BYTES = 1_000
"""Bytes for one subject at once: two or three rebalances of a group."""
SUBJECT_BYTES_A_SECOND = 20
"""Bytes for one subject on average: 2.5 kB a second for all subjects together."""
NEW_SUBJECTS_AT_ONCE = 64
"""The number of new subjects at once that get bytes of their own, such as groups that rebalance when a service
starts.
"""
NEW_SUBJECTS_A_SECOND = 0.5
"""New subjects on average: a client that invents names gets 500 bytes a second, and needs at least four minutes to
replace the known subjects.
"""
COUNT_AFTER_S = 1.0
"""The delay of the line with the number of suppressed lines."""

_CONVERSION = re.compile(r"%(?:\(\w+\))?[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?([a-zA-Z%])")

Site = tuple[str, int]
"""The place of a log call: file and line number."""


def cut(text: str, most: int) -> str:
    """The first ``most`` characters, and the number of the rest."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more)"


def quoted(text: str | None) -> str:
    """A text of a client for a log line: quoted, escaped, and cut at 100 characters."""
    return repr(text if text is None else cut(text, TEXT_MAX_CHARACTERS))


def quoted_list(texts: Collection[str]) -> str:
    """Texts of clients for a log line: the first ten, each as in :func:`quoted`."""
    return repr(_shortened("r", list(texts)))


def printable(text: str) -> str:
    """The text with everything that is not printable escaped: line ends, terminal codes, text direction marks."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ESCAPE(c)[0].decode("ascii") for c in text)


def message_of(template: object, arguments: Any) -> str:
    """The message of a log call as one line. Texts of clients (`%r` and lists) are cut."""
    text = str(template)
    if arguments:
        if isinstance(arguments, tuple):
            conversions = _conversions(text)
            if len(conversions) == len(arguments):
                arguments = tuple(map(_shortened, conversions, arguments))
        text = text % arguments
    return printable(cut(text, LINE_MAX_CHARACTERS))


def subject_of(arguments: Any) -> str | None:
    """The subject of a log call: its first argument if that is a text, such as a group id or a client's address."""
    if isinstance(arguments, tuple) and arguments and isinstance(arguments[0], str):
        return arguments[0][:TEXT_MAX_CHARACTERS]
    return None


def traceback_of(text: str) -> str:
    """A traceback as indented lines, so that none looks like a log line. The middle of a long one is left out."""
    lines = text.split("\n")
    if len(lines) > TRACEBACK_MAX_LINES:
        half = TRACEBACK_MAX_LINES // 2
        lines[half:-half] = [f"… ({len(lines) - 2 * half:,} lines)"]
    return "\n".join("    " + printable(cut(line, LINE_MAX_CHARACTERS)) for line in lines)


@lru_cache(maxsize=512)
def _conversions(template: str) -> tuple[str, ...]:
    """The conversions of a template in their order: ``("s", "r")``."""
    return tuple(kind for kind in _CONVERSION.findall(template) if kind != "%")


def _shortened(conversion: str, argument: Any) -> Any:
    if isinstance(argument, str):
        return cut(argument, TEXT_MAX_CHARACTERS) if conversion == "r" else argument
    if isinstance(argument, list | tuple | set | frozenset):
        shown = [cut(text, TEXT_MAX_CHARACTERS) if isinstance(text, str) else text for text in _first(argument)]
        more = len(argument) - len(shown)
        return [*shown, _More(more)] if more else shown
    return argument


def _first(texts: Any) -> Iterator[Any]:
    return (text for text, _ in zip(texts, range(LIST_MAX_TEXTS), strict=False))


class _More(int):
    """A placeholder in a list for the texts that are left out."""

    def __repr__(self) -> str:
        return f"{int(self):,} more"


class LeftOut(NamedTuple):
    """The suppressed lines of one log call."""

    sample: str
    """The last message that was written."""
    repeated: int
    """The number of lines equal to the sample; 0 if they may differ from it."""
    more: int
    """The number of lines of the same kind, equal or not."""

    def __str__(self) -> str:
        if self.repeated == self.more:
            return f"{self.sample} (repeated {self.more:,} times)"
        return f"{self.sample} ({self.more:,} more lines of this kind)"


class _Budget:
    """The budget of one log call, and its suppressed lines."""

    __slots__ = ("kind", "last", "left_bytes", "left_out_since_s", "more", "repeated", "time_s", "written_s")

    def __init__(self, now_s: float, kind: Any) -> None:
        self.kind = kind
        self.left_bytes = float(BURST_BYTES)
        self.time_s = now_s
        self.last = ""
        self.written_s = now_s
        self.repeated = 0
        self.more = 0
        self.left_out_since_s = now_s

    def refill(self, now_s: float) -> None:
        """Adds the bytes for the time since the last refill."""
        self.left_bytes = min(BURST_BYTES, self.left_bytes + max(0.0, now_s - self.time_s) * BYTES_A_SECOND)
        self.time_s = now_s

    def spend(self, message: str, size: int, now_s: float) -> None:
        """Notes a line that is written. A line may cost more bytes than are left; the next one waits for a refill."""
        self.left_bytes -= size
        self.last = message
        self.written_s = now_s

    def leave_out(self, is_equal: bool, now_s: float) -> None:
        """Counts a line that is not written."""
        if not self.more:
            self.left_out_since_s = now_s
        self.more += 1
        self.repeated += is_equal

    def take_count(self, now_s: float) -> LeftOut:
        """Returns the count of suppressed lines, and resets it."""
        left_out = LeftOut(self.last, self.repeated, self.more)
        self.repeated = self.more = 0
        self.left_bytes -= len(str(left_out))
        self.written_s = now_s
        return left_out


class _Allowance:
    """A token bucket of bytes or of new subjects: refilled at a constant rate, up to a limit."""

    __slots__ = ("_most", "_rate", "_time_s", "left")

    def __init__(self, now_s: float, most: float, a_second: float) -> None:
        self._most = most
        self._rate = a_second
        self._time_s = now_s
        self.left = most

    def refill(self, now_s: float) -> None:
        """Adds the bytes for the time since the last refill."""
        self.left = min(self._most, self.left + max(0.0, now_s - self._time_s) * self._rate)
        self._time_s = now_s


class _Subjects:
    """The bytes that lines about each subject may take when their log call has none left."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Allowance] = OrderedDict()
        self._new: _Allowance | None = None

    def allowance(self, subject: str | None, now_s: float) -> _Allowance | None:
        """The bytes of a subject; None if it has no bytes of its own."""
        if subject is None:
            return None
        known = self._known.get(subject)
        if known is None:
            new = self._new = self._new or _Allowance(now_s, NEW_SUBJECTS_AT_ONCE, NEW_SUBJECTS_A_SECOND)
            new.refill(now_s)
            if new.left < 1:
                return None
            new.left -= 1
            if len(self._known) == SUBJECTS_MAX:
                self._known.popitem(last=False)
            known = self._known[subject] = _Allowance(now_s, SUBJECT_BURST_BYTES, SUBJECT_BYTES_A_SECOND)
        else:
            self._known.move_to_end(subject)
            known.refill(now_s)
        return known


class LineBudgets:
    """Decides which lines are written. ``kind`` (level and logger) is returned to the caller with a count."""

    def __init__(self) -> None:
        self._budgets: dict[Site, _Budget] = {}
        self._counting: set[Site] = set()
        self._subjects = _Subjects()
        self._payer: _Allowance | None = None
        """The allowance of the subject that pays for the line admitted last; None if its log call pays."""

    @property
    def is_counting(self) -> bool:
        """Whether lines were left out whose number is not written yet."""
        return bool(self._counting)

    def admit(self, site: Site, subject: str | None, kind: Any, now_s: float, message: Callable[[], str]) -> str | None:
        """The message if the line is to be written, None if it was counted only.

        The message is not even formatted once the log call and the subject have spent their bytes. After a line is
        written its size is charged by :meth:`charge`.
        """
        budget = self._budgets.get(site)
        if budget is None:
            budget = self._budgets[site] = _Budget(now_s, kind)
        budget.refill(now_s)
        allowance = self._subjects.allowance(subject, now_s)  # always, so that the subject counts as used
        self._payer = None
        if budget.left_bytes <= 0:
            if allowance is None or allowance.left <= 0:
                self._leave_out(site, budget, False, now_s)
                return None
            self._payer = allowance
        text = message()
        if text == budget.last and now_s - budget.written_s < COUNT_AFTER_S:
            self._leave_out(site, budget, True, now_s)
            return None
        return text

    def _leave_out(self, site: Site, budget: _Budget, is_equal: bool, now_s: float) -> None:
        budget.leave_out(is_equal, now_s)
        self._counting.add(site)

    def charge(self, site: Site, message: str, size: int, now_s: float) -> None:
        """Charges the line that was admitted last, which was written and has ``size`` bytes."""
        payer, self._payer = self._payer, None
        if payer is not None:
            payer.left -= size
            size = 0
        self._budgets[site].spend(message, size, now_s)

    def counts(self, now_s: float, *, at_once: bool = False) -> list[tuple[Any, LeftOut]]:
        """The counts that are due, with their kinds; with ``at_once`` all of them, since the log ends."""
        due = []
        for site in sorted(self._counting):
            budget = self._budgets[site]
            budget.refill(now_s)
            waited = now_s - budget.left_out_since_s >= COUNT_AFTER_S and budget.left_bytes > 0
            if waited or at_once:
                due.append((budget.kind, budget.take_count(now_s)))
                self._counting.discard(site)
        return due
