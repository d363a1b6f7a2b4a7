"""Random requests of members of a share group, the same to Odradek and to a real Kafka.

Which partition Kafka serves first depends on what it has read before; so a group with two partitions asks for all
records. Nothing depends on time: locks are long, and acknowledgements that change something are answered before the
next request. Kafka answers a fetch that also acknowledges before it has stored the acknowledgement; so such a fetch
asks for no records here.
"""

import random
import time
from typing import Any

from parity.sharers import Batch, Sharers
from parity.side import DEADLINE_S, Side, batch
from parity.two_brokers import TwoBrokers

TOPIC = "share-random"
LOOKS = 20
MANY = 500
"""More records than a history has."""
MEMBERS = ("a", "b", "c")
TYPES = (0, 1, 1, 1, 2, 2, 3)


def sides(both: TwoBrokers) -> list[Side]:
    """Ours and Kafka's."""
    return [Side(both.wire, both.ours.port, True), Side(both.wire, both.kafka.port, False, both.recording)]


class RandomSharers:
    """The history of one group on both brokers."""

    def __init__(self, both: TwoBrokers, name: str, seed: int) -> None:
        self.random = random.Random(seed)
        self.partitions = 1 if seed % 3 else 2
        self.topic = f"{TOPIC}-{name}"
        self.asked = 0
        self.log: list[str] = []
        self.groups: list[Sharers] = []
        for side in sides(both):
            side.topic(self.topic, self.partitions)
            group = Sharers(side, name, self.topic, self.partitions)
            group.configure(
                share_auto_offset_reset="earliest",
                share_partition_max_record_locks="100",
                share_delivery_count_limit=str(2 + seed % 4),
            )
            group.initialize()
            self.groups.append(group)
        for index in range(self.partitions):
            self.produce(index)
        for group in self.groups:
            group.until_loaded("a")
        self.both_alike("close", lambda group: group.acknowledge("a", {}, -1))
        self.settle()
        self.held: dict[str, dict[int, list[tuple[int, int]]]] = {member: {} for member in MEMBERS}

    def disconnect(self) -> None:
        """Ends all sessions. A broker holds at most 2,000 (group.share.max.share.sessions), each until its connection
        is closed."""
        for group in self.groups:
            for who in MEMBERS:
                group.disconnect(who)

    # --- steps

    def step(self) -> None:
        """Does something on both brokers and compares."""
        steps = (
            (self.produce_somewhere, 2),
            (self.fetch, 6),
            (self.acknowledge, 7),
            (self.acknowledge_in_fetch, 1),
            (self.close, 1),
            (self.bad, 1),
        )
        self.random.choices([one for one, _ in steps], [weight for _, weight in steps])[0]()

    def produce_somewhere(self) -> None:
        self.produce(self.random.randrange(self.partitions))

    def produce(self, index: int) -> None:
        count = self.random.choice((1, 1, 3, 8, 20))
        for group in self.groups:
            group.side.produce(self.topic, batch(*range(count)), partition=index)

    def both_alike(self, what: str, ask: Any) -> Any:
        """Asks both, and compares the answers."""
        self.asked += 1
        self.log.append(what)
        ours, kafka = (ask(group) for group in self.groups)
        assert ours == kafka, "\n".join((*self.log[-12:], f"ours:  {ours}", f"Kafka: {kafka}"))
        return ours

    def fetch(self) -> None:
        who = self.random.choice(MEMBERS)
        fields: dict[str, Any] = {
            "max_records": self.random.choice((1, 5, 50, 500)),
            "batch_size": self.random.choice((1, 10, 500)),
            "share_acquire_mode": self.random.choice((0, 0, 1)),
            "version": 2,
        }
        if self.log[-1].startswith("close"):
            # Kafka releases the records of a session in memory a little after it has stored that.
            fields |= {"max_wait_ms": 300, "min_bytes": 1}
        if self.partitions > 1:
            fields |= {"max_records": MANY, "share_acquire_mode": 0}
        if self.random.random() < 0.2:
            fields |= {"version": 1, "share_acquire_mode": 0}
        if self.groups[0].sessions.get(who) and self.random.random() < 0.1:
            fields["forget"] = [self.random.randrange(self.partitions)]
        elif self.groups[0].sessions.get(who):
            fields["partitions"] = self.random.choice(([], [0], [*range(self.partitions)]))
        body = self.both_alike(f"fetch {who} {fields}", lambda group: group.fetch(who, **fields))
        for index, one in body["partitions"].items():
            self.held[who].setdefault(index, []).extend((first, last) for first, last, _ in one["acquired"])

    def some_acks(self) -> tuple[str, dict[int, list[Batch]]] | None:
        owner = self.random.choice(MEMBERS)
        if not any(self.held[owner].values()):
            return None
        acks: dict[int, list[Batch]] = {}
        for index, ranges in self.held[owner].items():
            if not ranges or self.random.random() < 0.3:
                continue
            first, last = ranges.pop(self.random.randrange(len(ranges)))
            begin = self.random.randint(first, last)
            end = self.random.randint(begin, last)
            if begin > first:
                ranges.append((first, begin - 1))
            if end < last:
                ranges.append((end + 1, last))
            count = end - begin + 1 if self.random.random() < 0.4 else 1
            acks[index] = [(begin, end, [self.random.choice(TYPES) for _ in range(count)])]
        who = owner if self.random.random() < 0.95 else self.random.choice(MEMBERS)
        return (who, acks) if acks and self.groups[0].sessions.get(who) else None

    def acknowledge(self) -> None:
        if (chosen := self.some_acks()) is not None:
            who, acks = chosen
            self.both_alike(f"acknowledge {who} {acks}", lambda group: group.acknowledge(who, acks))

    def acknowledge_in_fetch(self) -> None:
        if (chosen := self.some_acks()) is not None:
            who, acks = chosen
            self.both_alike(f"fetch {who} with {acks}", lambda group: group.fetch(who, acks=acks, max_records=0))

    def close(self) -> None:
        who = self.random.choice(MEMBERS)
        if self.groups[0].sessions.get(who):
            self.held[who] = {}
            self.both_alike(f"close {who}", lambda group: group.acknowledge(who, {}, -1))
            self.settle()

    def settle(self) -> None:
        """Waits until Kafka has stored what ours has. It answers the end of a session before that, and releases the
        records in memory a little after; so it must have been asked several times since."""
        ours, kafka = self.groups
        below: dict[int, int] = {}
        wanted = ours.stored(below)
        deadline = time.monotonic() + DEADLINE_S
        equal = 0
        while equal < LOOKS:
            seen = kafka.stored(dict(below))
            equal = equal + 1 if seen == wanted else 0
            lines = (*self.log[-12:], f"ours:  {wanted}", f"Kafka: {seen}")
            assert time.monotonic() < deadline, "\n".join(lines)

    def bad(self) -> None:
        """Requests that are refused."""
        who = self.random.choice(MEMBERS)
        epoch = self.groups[0].sessions.get(who, 0)
        first = self.random.randint(0, 60)
        refused = (
            ("wrong epoch", lambda group: group.fetch(who, epoch + 7)),
            ("wrong epoch", lambda group: group.acknowledge(who, {0: [(first, first, [1])]}, epoch + 7)),
            ("epoch 0", lambda group: group.acknowledge(who, {0: [(first, first, [1])]}, 0)),
            ("acks at epoch 0", lambda group: group.fetch(who, 0, acks={0: [(first, first, [1])]})),
            ("long member id", lambda group: group.fetch(who, 0, member_id="x" * 37)),
        )
        what, ask = self.random.choice(refused)
        self.both_alike(f"{what} {who}", ask)
        if not epoch:
            return
        bad_acks: tuple[list[Batch], ...] = (
            [(first + 1, first, [1])],
            [(first, first, [])],
            [(first, first, [5])],
            [(first, first, [4])],
            [(first, first + 2, [1, 1])],
            [(first, first + 9, [1]), (first + 3, first + 20, [1])],
            [(10_000, 10_001, [1])],
        )
        acks = {0: self.random.choice(bad_acks)}
        self.both_alike(f"bad {who} {acks}", lambda group: group.acknowledge(who, acks))
