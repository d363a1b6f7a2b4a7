"""Checks of a history under faults: pure functions, each named after the anomaly that it finds, as in Jepsen's checks
for Kafka.

Each takes a :class:`History` and returns its anomalies as texts. The guarantees for each kind of writer:

| writer | settings | promise |
|---|---|---|
| plain | acks=1, idempotence off | acknowledged records are not lost; retries may duplicate and reorder them |
| idempotent | acks=all, idempotence on | acknowledged records are stored once and in the order of sending |
| transactional | transactional.id | the same for committed transactions, as a whole; aborted ones are never read |

Readers read committed records. Source of the names: ``jepsen/tests/kafka.clj``; the others (torn
transactions, zombies' commits, falling offsets) are ours.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator

from support.fire.history import CONSUMER_READER, GROUP_READER, PLAIN, WATCHER, History, Place, Poll, Started

Check = Callable[[History], list[str]]


def lost_write(history: History) -> list[str]:
    """A guaranteed record is missing, although a later one of its partition exists."""
    return [f"{value} at {place}" for value, place, is_passed in _missing(history) if is_passed]


def unseen(history: History) -> list[str]:
    """A guaranteed record is missing at the end of its partition."""
    return [f"{value} at {place}" for value, place, is_passed in _missing(history) if not is_passed]


def _missing(history: History) -> Iterator[tuple[int, Place, bool]]:
    there = set(history.final.values())
    last: dict[int, int] = {}
    for place in history.final:
        last[place.partition] = max(place.offset, last.get(place.partition, -1))
    for send in history.promised():
        if send.value not in there:
            place = history.acknowledged[send.value]
            yield send.value, place, place.offset < last.get(place.partition, -1)


def duplicate(history: History) -> list[str]:
    """A record is stored twice, although its writer has a guarantee against that.

    librdkafka itself breaks this guarantee: after a fail-over it may send a later batch before those that it has to
    resend. The leader refuses it as out of order. librdkafka then raises its producer epoch and resends batches that
    may be stored already. A broker cannot recognize such a batch, so places with different epochs are not reported.
    """
    may_repeat = {send.value for send in history.sends if send.kind == PLAIN}
    places: dict[int, set[Place]] = defaultdict(set)
    for place, value in history.final.items():
        places[value].add(place)
    for poll in history.polls:
        for place, value in poll.records:
            places[value].add(place)
    return [
        f"{value} at {sorted(at)}"
        for value, at in places.items()
        if len(at) > 1 and value not in may_repeat and not _were_sent_apart(history, at)
    ]


def _were_sent_apart(history: History, at: set[Place]) -> bool:
    """Whether each place was written with another producer epoch."""
    writers = [history.writers.get(place) for place in at]
    return None not in writers and len(set(writers)) == len(at)


def aborted_read(history: History) -> list[str]:
    """G1a: a reader saw a record of a transaction that was aborted, or whose commit was never requested."""
    aborted = {
        value: transaction.name
        for transaction in history.transactions.values()
        if not transaction.may_be_committed
        for value in transaction.values
    }
    seen = {value for poll in history.polls for _, value in poll.records} | set(history.final.values())
    return [f"{value} of {aborted[value]}" for value in sorted(seen & aborted.keys())]


def precommitted_read(history: History) -> list[str]:
    """A reader saw a record before its producer requested the commit."""
    committing = {
        value: transaction.committing_at
        for transaction in history.transactions.values()
        if transaction.committing_at is not None
        for value in transaction.values
    }
    return [
        f"{value} by {poll.process}"
        for poll in history.polls
        for _, value in poll.records
        if value in committing and poll.at < (committing[value] or 0)
    ]


def torn_transaction(history: History) -> list[str]:
    """Only a part is stored of a transaction that was committed, or whose outcome is unknown."""
    there = set(history.final.values())
    return [
        f"{transaction.name}: of {transaction.values} only {sorted(there.intersection(transaction.values))}"
        for transaction in history.transactions.values()
        if transaction.may_be_committed and 0 < len(there.intersection(transaction.values)) < len(transaction.values)
    ]


def inconsistent_offsets(history: History) -> list[str]:
    """Two records have the same partition and offset."""
    values: dict[Place, set[int]] = defaultdict(set)
    for value, place in history.acknowledged.items():
        if place.offset >= 0:
            values[place].add(value)
    for place, value in history.final.items():
        values[place].add(value)
    for poll in history.polls:
        for place, value in poll.records:
            values[place].add(value)
    return [f"{sorted(found)} at {place}" for place, found in values.items() if len(found) > 1]


def nonmonotonic_poll(history: History) -> list[str]:
    """A reader went back to lower offsets between two polls, without a new assignment."""
    return [f"{poll.process}: {before} then {place}" for poll, before, place in _steps(history) if place <= before]


def int_nonmonotonic_poll(history: History) -> list[str]:
    """A reader went back to lower offsets within one poll."""
    return [f"{poll.process}: {before} then {place}" for poll, before, place in _inner(history) if place <= before]


def poll_skip(history: History) -> list[str]:
    """A reader skipped committed records between two polls, without a new assignment."""
    return _skips(history, _steps(history))


def int_poll_skip(history: History) -> list[str]:
    """A reader skipped committed records within one poll."""
    return _skips(history, _inner(history))


Step = tuple[Poll, Place, Place]


def _inner(history: History) -> Iterator[Step]:
    for poll in history.polls:
        last: dict[int, Place] = {}
        for place, _ in poll.records:
            if place.partition in last:
                yield poll, last[place.partition], place
            last[place.partition] = place


def _steps(history: History) -> Iterator[Step]:
    last: dict[tuple[str, int], Place] = {}
    for poll in history.polls:
        if poll.after_assignment:
            last = {key: place for key, place in last.items() if key[0] != poll.process}
        first: dict[int, Place] = {}
        for place, _ in poll.records:
            first.setdefault(place.partition, place)
        for partition, place in first.items():
            if (poll.process, partition) in last:
                yield poll, last[poll.process, partition], place
        for place, _ in poll.records:
            last[poll.process, place.partition] = place


def _skips(history: History, steps: Iterator[Step]) -> list[str]:
    return [
        f"{poll.process}: {before} then {place}, not {skipped}"
        for poll, before, place in steps
        if (
            skipped := [o for o in range(before.offset + 1, place.offset) if Place(place.partition, o) in history.final]
        )
    ]


def nonmonotonic_send(history: History) -> list[str]:
    """Records of one producer are stored in another order than they were sent."""
    return _disordered(history, within_transaction=False)


def int_nonmonotonic_send(history: History) -> list[str]:
    """Records of one transaction are stored in another order than they were sent."""
    return _disordered(history, within_transaction=True)


def _disordered(history: History, *, within_transaction: bool) -> list[str]:
    found = []
    last: dict[tuple[str, int], tuple[Place, str | None]] = {}
    for send in history.sends:
        place = history.acknowledged.get(send.value)
        if place is None or place.offset < 0 or send.kind == PLAIN:
            continue
        key = send.process, place.partition
        if key in last and place <= last[key][0]:
            is_within = send.transaction is not None and last[key][1] == send.transaction
            if is_within == within_transaction:
                found.append(f"{send.process}: {last[key][0]} then {place}")
        last[key] = place, send.transaction
    return found


def zombie_commit(history: History) -> list[str]:
    """A commit succeeded that its producer requested after another one had taken over the transactional id."""
    starts: dict[str, list[Started]] = defaultdict(list)
    ids: dict[str, str] = {}
    for started in history.started:
        starts[started.transactional_id].append(started)
        ids[started.process] = started.transactional_id
    found = []
    for transaction in history.transactions.values():
        if not transaction.is_committed or transaction.committing_at is None or transaction.process not in ids:
            continue
        before = [one for one in starts[ids[transaction.process]] if one.at < transaction.committing_at]
        own = max((one.at for one in before if one.process == transaction.process), default=0)
        others = [one.process for one in before if one.process != transaction.process and one.asked_at > own]
        found += [f"{transaction.name}: {process} had the id by then" for process in others]
    return found


def unseen_by_group(history: History) -> list[str]:
    """No member of a group of readers received a committed record."""
    found = []
    for kind in (GROUP_READER, CONSUMER_READER):
        polls = [poll for poll in history.polls if poll.kind == kind]
        seen = {place for poll in polls for place, _ in poll.records}
        if polls or kind == GROUP_READER:
            found += [f"{value} at {place} by {kind}" for place, value in history.final.items() if place not in seen]
    return found


def changed_read(history: History) -> list[str]:
    """A record that a reader has seen is missing or different at the end, also if its transaction was aborted."""
    return [
        f"{value} at {place}, then {history.everything.get(place)}, by {poll.process}"
        for poll in history.glimpses
        for place, value in poll.records
        if history.everything.get(place) != value
    ]


def falling_high_watermark(history: History) -> list[str]:
    """A partition's high watermark decreased between two answers, of the same or different leaders."""
    return [line for group, line in _falls(history) if group is None]


def falling_commit(history: History) -> list[str]:
    """A group's committed offset decreased, or is at the end lower than one that was acknowledged or read before."""
    found = [line for group, line in _falls(history) if group is not None]
    for one in history.offsets:
        if one.group is not None:
            for partition, offset in one.by_partition.items():
                last = history.committed[one.group].get(partition, -1)
                if last < offset:
                    found.append(f"{one.process}: {one.group} at {partition}: {offset}, {last} at the end")
    return found


def _falls(history: History) -> Iterator[tuple[str | None, str]]:
    before: dict[tuple[str, str | None, int], int] = {}
    for one in history.offsets:
        for partition, offset in one.by_partition.items():
            key = one.process, one.group, partition
            if offset < before.get(key, 0) and one.kind == WATCHER:
                yield one.group, f"{one.process}: {one.group} at {partition}: {before[key]} then {offset}"
            before[key] = offset


CHECKS: dict[str, Check] = {
    "lost-write": lost_write,
    "unseen": unseen,
    "duplicate": duplicate,
    "G1a": aborted_read,
    "precommitted-read": precommitted_read,
    "torn-transaction": torn_transaction,
    "inconsistent-offsets": inconsistent_offsets,
    "nonmonotonic-poll": nonmonotonic_poll,
    "int-nonmonotonic-poll": int_nonmonotonic_poll,
    "poll-skip": poll_skip,
    "int-poll-skip": int_poll_skip,
    "nonmonotonic-send": nonmonotonic_send,
    "int-nonmonotonic-send": int_nonmonotonic_send,
    "zombie-commit": zombie_commit,
    "unseen-by-group": unseen_by_group,
    "changed-read": changed_read,
    "falling-high-watermark": falling_high_watermark,
    "falling-commit": falling_commit,
}


def anomalies(history: History) -> dict[str, list[str]]:
    """Name of each check that found something -> the anomalies."""
    return {name: found for name, check in CHECKS.items() if (found := check(history))}


# Transfers between accounts --------------------------------------------------


def transfer_anomalies(
    transfers: dict[Place, tuple[int, int, int, int]],
    postings: list[tuple[int, int, int]],
    balances: dict[int, int],
    writers: dict[Place, tuple[int, int]],
) -> dict[str, list[str]]:
    """The anomalies of transfers, each of which must be done as a whole or not at all, as often as it was requested.

    ``transfers``: place of the request -> (number, from, to, amount); ``postings``: (number, account, amount) as
    readers of committed records find them; ``balances``: what each account had; ``writers``: producer id and epoch of
    the requests. The client that requests is idempotent: a number stands at two places only if librdkafka sent it under
    two producer epochs (see :func:`duplicate`).
    """
    found: dict[str, list[str]] = defaultdict(list)
    by_number: dict[int, list[tuple[int, int]]] = defaultdict(list)
    total = sum(balances.values())
    after = dict(balances)
    for number, account, amount in postings:
        by_number[number].append((account, amount))
        after[account] = after.get(account, 0) + amount
    if sum(after.values()) != total:
        found["constant-sum"].append(f"{sum(after.values())} instead of {total}")
    places: dict[int, list[Place]] = defaultdict(list)
    for place, (number, _, _, _) in transfers.items():
        places[number].append(place)
    for number, at in places.items():
        sent_by = [writers.get(place) for place in at]
        if len(at) > 1 and (None in sent_by or len(set(sent_by)) < len(at)):
            found["duplicate-request"].append(f"{number} at {sorted(at)}, by {sent_by}")
        _, source, target, amount = transfers[at[0]]
        expected = sorted([(source, -amount), (target, amount)] * len(at))
        posted = sorted(by_number.pop(number, []))
        if posted != expected:
            wrong = "repeated-transfer" if len(posted) > len(expected) else "missing-transfer"
            name = "lost-transfer" if not posted else "torn-transfer" if len(posted) % 2 else wrong
            found[name].append(f"{number}: {posted} instead of {expected}")
    found["unasked-transfer"] += [str(number) for number in by_number]
    return {name: lines for name, lines in found.items() if lines}
