"""The rebalances of the last while, with their reasons, from the lines that the group coordinator logs.

Owns: a ring of MOST_REBALANCES. Never does: changing or asking groups: a handler of their loggers costs nothing while
it is not attached. The templates of the log calls are compared, not their texts; a test makes groups of each type
rebalance. Invariant: memory is bounded by the constants below.
"""

import logging
from collections import OrderedDict, deque
from dataclasses import dataclass

from ..timers.log_lines import cut, message_of

GROUPS_LOGGER = "odradek.broker.groups"
MOST_REBALANCES = 500
MOST_GROUPS = 256
"""The most groups whose causes, or whose unfinished rebalance, are kept."""
MOST_CAUSES = 3
MAX_CHARACTERS = 300

CLASSIC_BEGINS = "group %r rebalances after generation %d: %s"
CLASSIC_ENDS = "group %r, generation %d: %d members"
EPOCH_BEGINS = ("group %r: new epoch %d", "group %r: new epoch %d: its regular expressions match other topics")
EPOCH_ENDS = ("group %r: target assignment of epoch %d", "group %r: target assignment of epoch %d by %r")
OF_A_GROUP = "group %r: "
"""The start of a template whose first argument is a group: why the next epoch begins."""
UNKNOWN_CAUSE = "a member joined, or topics or a subscription changed"


@dataclass(slots=True)
class Rebalance:
    """One rebalance."""

    group_id: str
    group_type: str
    begin_ms: int
    """Milliseconds since the epoch."""
    generation: int
    """The generation, or the epoch, that it led to; the one before it while a classic group still rebalances."""
    reason: str
    end_ms: int | None = None
    """When a classic group had its members, or when the target assignment of another one was made."""
    members: int | None = None
    """The members of the new generation; None for groups without generations."""


class RebalanceHistory(logging.Handler):
    """Keeps the last rebalances."""

    def __init__(self) -> None:
        super().__init__()
        self._last: deque[Rebalance] = deque(maxlen=MOST_REBALANCES)
        self._open: OrderedDict[str, Rebalance] = OrderedDict()
        self._causes: OrderedDict[str, list[str]] = OrderedDict()

    def attach(self) -> None:
        """Begins to take lines."""
        logging.getLogger(GROUPS_LOGGER).addHandler(self)

    def detach(self) -> None:
        """Takes no more lines."""
        logging.getLogger(GROUPS_LOGGER).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Looks at one line."""
        arguments = record.args
        if not isinstance(arguments, tuple) or not arguments or not isinstance(arguments[0], str):
            return
        try:
            self._look(record, str(record.msg), arguments, int(record.created * 1000))
        except Exception:  # noqa: BLE001 - as in logging itself: a wrong log call must not fail its caller
            self.handleError(record)

    def last(self) -> list[Rebalance]:
        """The rebalances, the oldest first."""
        return list(self._last)

    def _look(self, record: logging.LogRecord, template: str, arguments: tuple[object, ...], now_ms: int) -> None:
        group_id = str(arguments[0])
        if template == CLASSIC_BEGINS:
            self._begin(
                Rebalance(group_id, "classic", now_ms, _number(arguments), cut(str(arguments[2]), MAX_CHARACTERS))
            )
        elif template == CLASSIC_ENDS:
            self._end(group_id, now_ms, _number(arguments), int(str(arguments[2])))
        elif template in EPOCH_BEGINS:
            causes = self._causes.pop(group_id, [])
            if template == EPOCH_BEGINS[1]:
                causes.append("its regular expressions match other topics")
            reason = "; ".join(causes) or UNKNOWN_CAUSE
            self._begin(Rebalance(group_id, _type_of(record.name), now_ms, _number(arguments), reason))
        elif template in EPOCH_ENDS:
            self._end(group_id, now_ms, _number(arguments), None)
        elif template.startswith(OF_A_GROUP):
            text = message_of(template[len(OF_A_GROUP) :], arguments[1:])
            causes = self._causes.setdefault(group_id, [])
            causes.append(cut(text, MAX_CHARACTERS))
            del causes[:-MOST_CAUSES]
            if len(self._causes) > MOST_GROUPS:
                self._causes.popitem(last=False)

    def _begin(self, rebalance: Rebalance) -> None:
        self._last.append(rebalance)
        self._open[rebalance.group_id] = rebalance
        self._open.move_to_end(rebalance.group_id)
        if len(self._open) > MOST_GROUPS:
            self._open.popitem(last=False)

    def _end(self, group_id: str, now_ms: int, generation: int, members: int | None) -> None:
        rebalance = self._open.pop(group_id, None)
        if rebalance is not None:
            rebalance.end_ms, rebalance.generation, rebalance.members = now_ms, generation, members


def _number(arguments: tuple[object, ...]) -> int:
    return int(str(arguments[1]))


def _type_of(logger_name: str) -> str:
    """The type of a group, which is the folder of the module that logs."""
    kind = logger_name.removeprefix(f"{GROUPS_LOGGER}.").partition(".")[0]
    return kind if kind in ("consumer", "share", "streams") else "consumer"
