"""Groups of the consumer protocol (KIP-848) with real clients: they join, leave, die and restart; the broker is killed.

The Java consumer and librdkafka, each with both assignors of the broker and with a regular expression, unmodified.
Every member keeps a journal. No record is lost or out of order. A new owner of a partition continues at the committed
offset, and gets the partition only after its old owner has revoked it. Static members that return get their partitions
back without a rebalance of the others.
"""

import json
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

PATIENCE_S = 240.0
PARTITIONS = 6
BATCH = 60
PATIENT = {
    # Longer than a restart takes on any machine.
    "group.consumer.session.timeout.ms": "60000",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.assignment.interval.ms": "0",
}
IMPATIENT = PATIENT | {
    # The time until a dead member is noticed.
    "group.consumer.session.timeout.ms": "15000",
    "group.consumer.min.session.timeout.ms": "15000",
}
SUBSCRIPTIONS: dict[str, tuple[str, str]] = {
    "uniform": ("uniform", "{topic}"),
    "range": ("range", "{topic}"),
    "regex": ("uniform", "^{topic}$|^{topic}-another"),
}
"""Group -> the assignor of the broker, and the subscription of its members."""


def owned_at_once(journals: list[Path], dead: set[str]) -> list[str]:
    """Partitions that a process got while another living one still had them."""
    events = []
    for path in journals:
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                at, event, facts = json.loads(line)
                events.append((at, path.stem, event, facts))
    owners: dict[int, str] = {}
    found = []
    for _, process, event, facts in sorted(events, key=lambda entry: entry[0]):
        if event == "assigned":
            for partition in facts[1]:
                owner = owners.get(partition, process)
                if owner != process and owner not in dead:
                    found.append(f"{process} got {partition}, which {owner} had")
                owners[partition] = process
        elif event == "revoked":
            for partition in facts:
                if owners.get(partition) == process:
                    del owners[partition]
    return found


class Groups:
    """One process for each client and member. It has a member in each of the client's groups."""

    def __init__(self, broker: OurBroker, directory: Path, clients: tuple[str, ...]) -> None:
        self.broker = broker
        self._directory = directory
        self._clients = clients
        self.crews: list[GroupCrew] = []
        self._dead: set[str] = set()
        self._processes = 0
        self._produced = 0
        for topic in self.names:
            CLIENTS["confluent-kafka"].create_topic(broker.bootstrap_servers, topic, PARTITIONS)

    @property
    def names(self) -> list[str]:
        """The names of groups, and of the topics that they read."""
        return [f"{client}-{name}" for client in self._clients for name in SUBSCRIPTIONS]

    def start(self, member: str, *, static: bool = False) -> list[GroupCrew]:
        """Starts one more member in each group."""
        self._processes += 1
        started = []
        for client in self._clients:
            seats = []
            for name, (assignor, subscription) in SUBSCRIPTIONS.items():
                group = f"{client}-{name}"
                journal = self._directory / group / f"{member}~{self._processes}.journal"
                journal.parent.mkdir(exist_ok=True)
                settings: dict[str, Any] = {"group.protocol": "consumer", "group.remote.assignor": assignor}
                if static:
                    settings["group.instance.id"] = member
                seats.append(Seat(subscription.format(topic=group), group, journal, settings))
            started.append(GroupCrew(client, self.broker.bootstrap_servers, seats))
        self.crews += started
        return started

    def stop(self, crews: list[GroupCrew]) -> None:
        """Makes them leave their groups."""
        for crew in crews:
            crew.stop()
        for crew in crews:
            crew.wait()

    def kill(self, crews: list[GroupCrew], process: str) -> None:
        """Kills them."""
        for crew in crews:
            crew.kill()
        self._dead.add(process)

    def produce(self) -> None:
        """Produces a batch of records into each topic."""
        for codec, numbers in by_codec(self._produced, BATCH):
            for topic in self.names:
                CLIENTS["confluent-kafka"].produce(
                    self.broker.bootstrap_servers, topic, codec, numbers, {"linger.ms": 0}
                )
        self._produced += BATCH

    def journals(self, group: str) -> list[Path]:
        """The journals of all processes that were ever in the group."""
        return sorted((self._directory / group).glob("*.journal"))

    def wait(self, what: str, condition: Callable[[GroupHistory], bool]) -> None:
        """Waits until a condition is true for every group. No group may break a rule until then."""
        for group in self.names:

            def shows_it(group: str = group) -> bool:
                history = read_history(self.journals(group))
                broken = history.violations + history.failures
                if self._ended_sessions(group) <= len(self._dead):
                    # On a busy machine a living member may miss its session timeout. It reads until it learns of that.
                    broken += owned_at_once(self.journals(group), self._dead)
                assert not broken, (group, broken[:5])
                if condition(history):
                    return True
                assert not any(crew.has_failed for crew in self.crews), self._found(what, group)
                return False

            eventually(partial(self._found, what, group), shows_it, patience_s=PATIENCE_S, every_s=0.05)

    def _found(self, what: str, group: str) -> str:
        history = read_history(self.journals(group))
        logs = "".join(crew.log()[-2000:] for crew in self.crews if group.startswith(crew.client))
        told = [line for line in self.broker.log().splitlines() if f" {group}" in line]
        return (
            f"{group}: {what}; held {history.assigned}, {len(history.numbers)} of "
            f"{self._produced} delivered\n{logs}\n" + "\n".join(told[-30:])
        )

    def wait_for_owners(self, *processes: str) -> None:
        """Waits until these processes own all partitions, each at least one, and all records were delivered."""
        produced = set(range(self._produced))

        def is_shared(history: GroupHistory) -> bool:
            held = {process: owned for process, owned in history.assigned.items() if process in processes}
            owned = sorted(partition for partitions in held.values() for partition in partitions)
            is_complete = len(held) == len(processes) and all(held.values()) and owned == list(range(PARTITIONS))
            return is_complete and history.numbers == produced

        self.wait(f"{processes} share the partitions and read all", is_shared)

    def _ended_sessions(self, group: str) -> int:
        """The number of members of a group whose sessions ended, from the broker's log."""
        lines = self.broker.log().splitlines()
        return sum(f"group {group}: " in line and "ConsumerSessionExpired" in line for line in lines)

    def held(self, process: str) -> dict[str, list[int]]:
        """The partitions that a process owns in each group."""
        return {group: read_history(self.journals(group)).assigned[process] for group in self.names}


@pytest.fixture
def all_groups() -> Iterator[list[Groups]]:
    """A list for the groups of a test, whose processes end with the test."""
    made: list[Groups] = []
    yield made
    for groups in made:
        for crew in groups.crews:
            crew.kill()


@pytest.mark.ci
@pytest.mark.java
def test_groups_of_the_consumer_protocol(tmp_path: Path, all_groups: list[Groups]) -> None:
    java_or_skip()
    with OurBroker(tmp_path, PATIENT) as broker:
        all_groups.append(groups := Groups(broker, tmp_path, (JAVA, "confluent-kafka")))
        groups.produce()
        first, second = groups.start("a", static=True), groups.start("b", static=True)
        groups.wait_for_owners("a~1", "b~2")

        third = groups.start("c")
        groups.wait_for_owners("a~1", "b~2", "c~3")
        groups.stop(third)
        groups.produce()
        groups.wait_for_owners("a~1", "b~2")

        broker.kill()
        broker.start()
        groups.produce()
        groups.wait_for_owners("a~1", "b~2")

        before = groups.held("a~1"), groups.held("b~2")
        groups.stop(first)
        first = groups.start("a", static=True)
        groups.wait_for_owners("a~4", "b~2")
        groups.stop(second)
        second = groups.start("b", static=True)
        groups.produce()
        groups.wait_for_owners("a~4", "b~5")
        assert (groups.held("a~4"), groups.held("b~5")) == before, "a rolling restart has moved partitions"

        last = groups.start("d")
        groups.wait_for_owners("a~4", "b~5", "d~6")
        broker.stop()

    groups.broker = hasty = OurBroker(tmp_path, IMPATIENT)
    hasty.port = broker.port
    with hasty:
        groups.produce()
        groups.wait_for_owners("a~4", "b~5", "d~6")
        groups.kill(last, "d~6")
        groups.produce()
        groups.wait_for_owners("a~4", "b~5")
        groups.stop(first + second)
        assert " ERROR " not in hasty.log()
