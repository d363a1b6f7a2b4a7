"""What writers and readers saw during faults: the journal of each process, and all journals as one history.

A line of a journal is a JSON array: time (ns of the monotonic clock, which all processes share), event, facts.

    starting KIND ID           before InitProducerId; ID: the transactional id, or null
    started KIND ID            it has its producer id
    begin TXN                  a transaction begins
    send VALUE PARTITION TXN   before the send; TXN null outside of transactions
    acked VALUE PARTITION OFFSET
    committing TXN, committed TXN, aborting TXN, aborted TXN    before the request, and after the answer
    assigned PARTITIONS        a reader's positions were reset
    poll [[PARTITION, OFFSET, VALUE], ...]
    glimpse [[PARTITION, OFFSET, VALUE], ...]    records that may be of open or aborted transactions
    ends [[PARTITION, OFFSET], ...]              high watermarks, as the leaders answer
    offsets GROUP [[PARTITION, OFFSET], ...]     committed offsets: acknowledged to a member, or read by the watcher
    told COUNT                 COUNT more transfers were carried out
    fenced, again REASON       another process has taken over; it restarts after an error
"""

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

PLAIN, IDEMPOTENT, TRANSACTIONAL = "plain", "idempotent", "transactional"
ASSIGNED_READER, GROUP_READER = "assigned-reader", "group-reader"
CONSUMER_READER = "consumer-reader"
"""A reader in a group of the consumer protocol (KIP-848)."""
UNCOMMITTED_READER, WATCHER = "uncommitted-reader", "watcher"
"""A reader of all records, and the process that asks for high watermarks and committed offsets."""
ASKER, TELLER = "asker", "teller"
"""The process that requests transfers between accounts, and the one that carries them out."""


class FireJournal:
    """Writes the journal of one process."""

    def __init__(self, path: Path) -> None:
        self._directory = path.parent
        self._file = path.open("a", buffering=1)

    def write(self, event: str, *facts: Any) -> None:
        """Writes an event with the current time. When this returns, the operating system has the line, so that a kill
        does not lose it.
        """
        self._file.write(json.dumps([time.monotonic_ns(), event, *facts]) + "\n")

    def transfers_told(self) -> int:
        """The number of transfers in all journals of tellers so far. The last one of a killed teller may be missing."""
        lines = (line for path in self._directory.glob("*-teller-*.journal") for line in path.read_text().splitlines())
        return sum(int(line.rpartition(",")[2].strip(" ]")) for line in lines if '"told", ' in line and line[-1] == "]")


class Place(NamedTuple):
    """The partition and offset of a record."""

    partition: int
    offset: int


class Send(NamedTuple):
    """A record that was handed to a producer."""

    process: str
    kind: str
    value: int
    partition: int
    transaction: str | None


@dataclass
class Transaction:
    """A transaction as its producer knows it. Times in ns; None if that step was not reached."""

    name: str
    process: str
    values: list[int] = field(default_factory=list)
    committing_at: int | None = None
    outcome: str | None = None
    """``committed``, ``aborted`` or None if the client got no outcome."""

    @property
    def is_committed(self) -> bool:
        """Whether its producer got the answer that it is committed."""
        return self.outcome == "committed"

    @property
    def may_be_committed(self) -> bool:
        """Whether the commit was requested, and no other outcome was reported."""
        return self.committing_at is not None and self.outcome != "aborted"


class Started(NamedTuple):
    """A producer took over its transactional id."""

    process: str
    transactional_id: str
    asked_at: int
    at: int


class Poll(NamedTuple):
    """The records of one poll, in order; ``after_assignment``: the positions were reset since the previous poll."""

    process: str
    kind: str
    at: int
    records: list[tuple[Place, int]]
    after_assignment: bool


class Offsets(NamedTuple):
    """Offsets of partitions that a process received: committed ones of ``group``, or high watermarks if it is None."""

    process: str
    kind: str
    group: str | None
    by_partition: dict[int, int]


@dataclass
class History:
    """All journals together, and the content of the topics at the end."""

    sends: list[Send] = field(default_factory=list)
    acknowledged: dict[int, Place] = field(default_factory=dict)
    """The offset is -1 if the broker only answered that it has the record (``DUPLICATE_SEQUENCE_NUMBER``)."""
    transactions: dict[str, Transaction] = field(default_factory=dict)
    started: list[Started] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    glimpses: list[Poll] = field(default_factory=list)
    offsets: list[Offsets] = field(default_factory=list)
    committed: dict[str, dict[int, int]] = field(default_factory=dict)
    """Group -> partition -> the committed offset at the end."""
    everything: dict[Place, int] = field(default_factory=dict)
    """The records at the end, uncommitted ones included."""
    final: dict[Place, int] = field(default_factory=dict)
    """The committed records at the end, after all workers have ended, by rising offset."""

    writers: dict[Place, tuple[int, int]] = field(default_factory=dict)
    """Producer id and epoch of each record, if the logs were read."""

    def promised(self) -> list[Send]:
        """The sends whose records must be stored: acknowledged, and in no transaction or in a committed one."""
        return [send for send in self.sends if send.value in self.acknowledged and self._counts(send)]

    def _counts(self, send: Send) -> bool:
        return send.transaction is None or self.transactions[send.transaction].is_committed


def read_journals(paths: Iterable[Path]) -> History:
    """Merges journals, without the incomplete last line of a killed process."""
    history = History()
    for path in paths:
        reading = _JournalWalk(path.stem, history)
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                at, event, *facts = json.loads(line)
                reading.take(at, event, facts)
    return history


class _JournalWalk:
    """The walk through one process' journal."""

    def __init__(self, process: str, history: History) -> None:
        self._process = process
        self._history = history
        self._kind = ""
        self._assigned = True
        self._asked_at = 0

    def take(self, at: int, event: str, facts: list[Any]) -> None:
        """Adds one line."""
        history = self._history
        if event == "starting":
            self._asked_at = at
        elif event == "started":
            self._kind, transactional_id = facts
            if transactional_id is not None:
                history.started.append(Started(self._process, transactional_id, self._asked_at, at))
        elif event == "send":
            value, partition, transaction = facts
            history.sends.append(Send(self._process, self._kind, value, partition, transaction))
            if transaction is not None:
                history.transactions[transaction].values.append(value)
        elif event == "acked":
            value, partition, offset = facts  # a duplicate batch is acknowledged without an offset
            history.acknowledged[value] = Place(partition, -1 if offset is None else offset)
        elif event == "begin":
            history.transactions[facts[0]] = Transaction(facts[0], self._process)
        elif event == "committing":
            history.transactions[facts[0]].committing_at = at
        elif event in ("committed", "aborted"):
            history.transactions[facts[0]].outcome = event
        elif event == "assigned":
            self._assigned = True
        elif event in ("poll", "glimpse"):
            records = [(Place(partition, offset), value) for partition, offset, value in facts[0]]
            polls = history.polls if event == "poll" else history.glimpses
            polls.append(Poll(self._process, self._kind, at, records, self._assigned))
            self._assigned = False
        elif event == "ends":
            history.offsets.append(Offsets(self._process, self._kind, None, dict(facts[0])))
        elif event == "offsets":
            history.offsets.append(Offsets(self._process, self._kind, facts[0], dict(facts[1])))
