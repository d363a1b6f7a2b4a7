"""Groups of the classic protocol with every assignor that each client has: joining, leaving, dying, rolling restarts.

The three Python clients and the Java consumer, unmodified, all at once on one broker; a process holds one member in
each of its client's groups. Every member keeps a journal. No record is lost or out of order. A new owner of a partition
continues at the committed offset, and no partition has two owners in one generation. Static members that return within
their session, after a stop or kill -9, get their partitions back without a rebalance of the others.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clients.crew import JAVA, GroupCrew, Seat
from support.brokers.our_broker import OurBroker
from support.brokers.python_clients import CLIENTS
from support.data.numbered_records import by_codec
from support.eventually import eventually
from support.groups.journal import GroupHistory, read_history
from support.kafka.java import java_or_skip

PATIENCE_S = 300.0
PARTITIONS = 6
BATCH = 60
STATIC_SESSION_MS = 200_000
"""Longer than a restart takes on any machine."""
DYNAMIC_SESSION_MS = 6_000
"""The lowest session timeout of Kafka: the time until a dead member is noticed."""


ASSIGNORS: dict[str, tuple[str, ...]] = {
    "kafka-python": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "aiokafka": ("range", "roundrobin", "sticky"),
    "confluent-kafka": ("range", "roundrobin", "cooperative-sticky"),
    JAVA: ("range", "roundrobin", "sticky", "cooperative-sticky"),
}
"""Every assignor that a client has for the classic protocol."""
JAVA_CLASSES = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}


def settings_of(client: str, assignor: str, instance: str | None) -> dict[str, Any]:
    """A member's settings, by the client's names."""
    session_ms = DYNAMIC_SESSION_MS if instance is None else STATIC_SESSION_MS
    if client in (JAVA, "confluent-kafka"):
        name = f"org.apache.kafka.clients.consumer.{JAVA_CLASSES[assignor]}" if client == JAVA else assignor
        settings: dict[str, Any] = {
            "partition.assignment.strategy": name,
            "session.timeout.ms": session_ms,
            "heartbeat.interval.ms": 500,
        }
        return settings if instance is None else settings | {"group.instance.id": instance}
    settings = {
        "partition_assignment_strategy": assignor,
        "session_timeout_ms": session_ms,
        "heartbeat_interval_ms": 500,
    }
    return settings if instance is None else settings | {"group_instance_id": instance}


class Company:
    """The crews of all clients, and the histories of their groups."""

    def __init__(self, broker: OurBroker, directory: Path, clients: tuple[str, ...]) -> None:
        self._broker = broker
        self._directory = directory
        self._clients = clients
        self.crews: list[GroupCrew] = []
        self._processes = 0
        self._produced = 0

    @property
    def groups(self) -> list[tuple[str, str]]:
        """Client and assignor of each group."""
        return [(client, assignor) for client in self._clients for assignor in ASSIGNORS[client]]

    def start(self, member: str, *, static: bool) -> list[GroupCrew]:
        """Starts one more member in each group."""
        self._processes += 1
        started = []
        for client in self._clients:
            seats = []
            for assignor in ASSIGNORS[client]:
                name = f"{client}-{assignor}"
                journal = self._directory / name / f"{member}~{self._processes}.journal"
                journal.parent.mkdir(exist_ok=True)
                settings = settings_of(client, assignor, member if static else None)
                seats.append(Seat(name, name, journal, settings))
            started.append(GroupCrew(client, self._broker.bootstrap_servers, seats))
        self.crews += started
        return started

    def produce(self) -> None:
        """Produces a batch of records into each topic."""
        for codec, numbers in by_codec(self._produced, BATCH):
            for client, assignor in self.groups:
                CLIENTS["confluent-kafka"].produce(
                    self._broker.bootstrap_servers, f"{client}-{assignor}", codec, numbers, {"linger.ms": 0}
                )
        self._produced += BATCH

    def history(self, client: str, assignor: str) -> GroupHistory:
        """The history of a group's members so far."""
        return read_history(sorted((self._directory / f"{client}-{assignor}").glob("*.journal")))

    def wait(self, what: str, condition: Callable[[GroupHistory], bool]) -> None:
        """Waits until a condition is true for every group. No group may break a rule until then."""
        for client, assignor in self.groups:

            def shows_it(client: str = client, assignor: str = assignor) -> bool:
                history = self.history(client, assignor)
                assert not history.violations, (client, assignor, history.violations[:5])
                assert not history.failures, (client, assignor, history.failures[:5])
                if condition(history):
                    return True
                assert not any(crew.has_failed for crew in self.crews), self._found(what, client, assignor)
                return False

            eventually(partial(self._found, what, client, assignor), shows_it, patience_s=PATIENCE_S, every_s=0.05)

    def _found(self, what: str, client: str, assignor: str) -> str:
        history, name = self.history(client, assignor), f"{client}-{assignor}"
        logs = "".join(crew.log()[-3000:] for crew in self.crews if crew.client == client or crew.has_failed)
        told = [line for line in self._broker.log().splitlines() if f" {name}" in line]
        return (
            f"{name}: {what}; held {history.assigned}, {len(history.numbers)} of "
            f"{self._produced} delivered\n{logs}\n" + "\n".join(told[-30:])
        )

    def wait_for_owners(self, *processes: int) -> None:
        """Waits until these processes own all partitions, each at least one, and all records were delivered."""

        def is_shared(history: GroupHistory) -> bool:
            held = {name: owned for name, owned in history.assigned.items() if int(name.partition("~")[2]) in processes}
            owned = sorted(partition for partitions in held.values() for partition in partitions)
            return len(held) == len(processes) and all(held.values()) and owned == list(range(PARTITIONS))

        self.wait(f"processes {processes} share the partitions", is_shared)

    def wait_for_records(self) -> None:
        """Waits until all produced records were delivered."""
        produced = set(range(self._produced))
        self.wait(f"{self._produced} records", lambda history: history.numbers == produced)

    def asked_for(self, since: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
        """The rebalances of each group, from a generation on, that its leader caused by joining again, as it may."""
        lines = [line for line in self._broker.log().splitlines() if "is the leader and joins again" in line]
        asked = {}
        for client, assignor in self.groups:
            found = (
                re.search(rf"group '{client}-{assignor}' rebalances after generation (\d+):", line) for line in lines
            )
            asked[client, assignor] = sum(one is not None and int(one[1]) >= since[client, assignor] for one in found)
        return asked

    def generations(self) -> dict[tuple[str, str], int]:
        """The generation of each group, from the broker's log: cooperative members may not see it."""
        log = self._broker.log()
        return {(c, a): int(re.findall(rf"group '{c}-{a}', generation (\d+):", log)[-1]) for c, a in self.groups}


@pytest.fixture
def companies() -> Iterator[list[Company]]:
    """A list for the companies of a test, whose processes end with the test."""
    made: list[Company] = []
    yield made
    for company in made:
        for crew in company.crews:
            crew.kill()


def leave(crews: list[GroupCrew]) -> None:
    for crew in crews:
        crew.stop()
    for crew in crews:
        crew.wait()


def live_through(company: Company) -> None:
    """Runs the whole scenario. Processes 1 and 2 are the static members "a" and "b"; 3 leaves, 4 dies; 5 to 7 are a and
    b again.
    """
    company.produce()
    first, second = company.start("a", static=True), company.start("b", static=True)
    company.wait_for_owners(1, 2)
    company.wait_for_records()

    third = company.start("c", static=False)
    company.wait_for_owners(1, 2, 3)
    leave(third)
    company.produce()
    company.wait_for_owners(1, 2)
    company.wait_for_records()

    fourth = company.start("d", static=False)
    company.wait_for_owners(1, 2, 4)
    for crew in fourth:
        crew.kill()
    company.produce()
    company.wait_for_owners(1, 2)
    company.wait_for_records()

    before = company.generations()
    leave(first)
    first = company.start("a", static=True)
    company.wait_for_owners(5, 2)
    leave(second)
    company.start("b", static=True)
    company.wait_for_owners(5, 6)
    for crew in first:
        crew.kill()
    company.start("a", static=True)
    company.wait_for_owners(7, 6)
    company.produce()
    company.wait_for_records()

    # A rolling restart of static members starts no rebalance; but if it starts slowly, kafka-python's leader sometimes
    # joins once more of its own accord: it forgets a generation that it was given between two polls.
    def expected() -> dict[tuple[str, str], int]:
        asked = company.asked_for(before)
        return {group: before[group] + asked[group] for group in before}

    eventually(
        lambda: f"{company.generations()} are {expected()}",
        lambda: company.generations() == expected(),
        patience_s=PATIENCE_S,
    )
    leave(company.crews[-2 * len(first) :])


@pytest.mark.nightly
@pytest.mark.ci
@pytest.mark.java
@pytest.mark.timeout(1800)
def test_groups_of_every_client_with_every_assignor(tmp_path: Path, companies: list[Company]) -> None:
    java_or_skip()
    with OurBroker(tmp_path, {"group.initial.rebalance.delay.ms": "0"}) as broker:
        companies.append(company := Company(broker, tmp_path, tuple(ASSIGNORS)))
        for client, assignor in company.groups:
            CLIENTS["confluent-kafka"].create_topic(broker.bootstrap_servers, f"{client}-{assignor}", PARTITIONS)
        live_through(company)
        assert " ERROR " not in broker.log()
