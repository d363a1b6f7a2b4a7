"""A group of three, of which one leaves and one is killed, and the broker is killed, too: no record is lost.

With each unmodified Python client; records with keys, headers and each codec. The default run has a few thousand
records and the shortest session timeout of Kafka, so that a killed member is noticed after 6 s. The ``ci`` run has
100,000 records, and all settings of client and broker are defaults.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from clients.member import GroupMember
from support.brokers.our_broker import OurBroker
from support.brokers.python_clients import CLIENTS, PythonClient
from support.data.numbered_records import by_codec
from support.eventually import eventually
from support.groups.journal import GroupHistory, read_history

TOPIC, GROUP, PARTITIONS = "numbers", "readers", 6
PATIENCE_S = 300.0


class Group:
    """The members, and their common history."""

    def __init__(self, client: PythonClient, broker: OurBroker, directory: Path, settings: dict[str, Any]) -> None:
        self._client = client
        self._broker = broker
        self._directory = directory
        self._settings = settings
        self.members: list[GroupMember] = []

    def join(self) -> GroupMember:
        """Starts one more member."""
        journal = self._directory / f"member-{len(self.members) + 1}.journal"
        servers = self._broker.bootstrap_servers
        member = GroupMember(self._client.name, servers, TOPIC, GROUP, journal, self._settings)
        self.members.append(member)
        return member

    def history(self) -> GroupHistory:
        """The history of all members so far."""
        return read_history(member.journal for member in self.members)

    def wait(self, what: str, condition: Callable[[GroupHistory], bool]) -> GroupHistory:
        """Polls the history until a condition is true."""

        def found() -> str:
            history = self.history()
            return (
                f"{what}; {len(history.numbers)} numbers delivered, held "
                f"{history.assigned}, committed {history.committed}\n"
                f"{''.join(member.log()[-1500:] for member in self.members)}\n{self._broker.log()[-3000:]}"
            )

        def matching() -> GroupHistory | None:
            history = self.history()
            return history if condition(history) else None

        history = eventually(found, matching, patience_s=PATIENCE_S, every_s=0.05)
        assert history is not None
        assert not history.violations, history.violations[:5]
        return history


@pytest.fixture
def groups() -> Iterator[list[Group]]:
    """A list for the groups of a test, whose processes end with the test."""
    made: list[Group] = []
    yield made
    for group in made:
        for member in group.members:
            member.kill()


def produce(client: PythonClient, broker: OurBroker, first: int, count: int) -> None:
    for codec, numbers in by_codec(first, count):
        client.produce(broker.bootstrap_servers, TOPIC, codec, numbers, {})


def survive(client: PythonClient, broker: OurBroker, group: Group, count: int) -> None:
    """Runs the whole scenario, with ``count`` records in four quarters, and a few more at the end."""
    client.create_topic(broker.bootstrap_servers, TOPIC, PARTITIONS)
    quarter = count // 4
    produce(client, broker, 0, quarter)
    first, second, third = group.join(), group.join(), group.join()
    names = [member.journal.stem for member in (first, second, third)]
    group.wait("three members with two partitions each", lambda h: all(len(h.assigned.get(n, ())) == 2 for n in names))
    group.wait("the first quarter", lambda h: h.numbers == set(range(quarter)))

    third.leave()
    produce(client, broker, quarter, quarter)
    group.wait("the second quarter, by two members", lambda h: h.numbers == set(range(2 * quarter)))

    second.kill()
    broker.kill()
    broker.start()
    produce(client, broker, 2 * quarter, quarter)
    group.wait("the third quarter, by the one who is left", lambda h: h.numbers == set(range(3 * quarter)))

    produce(client, broker, 3 * quarter, quarter)
    produced = set(range(4 * quarter))
    group.wait("the last quarter", lambda h: h.numbers == produced)
    group.wait("all of it committed", lambda h: sum(h.committed.values()) == len(produced))
    first.leave()

    broker.kill()
    broker.start()
    newcomer = group.join()
    group.wait("a newcomer with all partitions", lambda h: len(h.assigned.get(newcomer.journal.stem, ())) == PARTITIONS)
    produce(client, broker, 4 * quarter, 50)
    group.wait("what came last", lambda h: h.numbers == set(range(4 * quarter + 50)))
    newcomer.leave()
    alone = read_history([newcomer.journal])
    assert alone.numbers == set(range(4 * quarter, 4 * quarter + 50)), "the newcomer got what was committed already"
    assert not group.history().failures
    assert broker.stop() == 0


def all_survive(
    directory: Path,
    groups: list[Group],
    count: int,
    broker_settings: dict[str, str],
    settings: Callable[[PythonClient], dict[str, Any]],
) -> None:
    """Runs all clients at once, each with its own broker, because most of the time is spent waiting for sessions to
    end.
    """

    def live(client: PythonClient) -> None:
        own = directory / client.name
        own.mkdir()
        with OurBroker(own, broker_settings) as broker:
            groups.append(group := Group(client, broker, own, settings(client)))
            survive(client, broker, group, count)

    with ThreadPoolExecutor(len(CLIENTS)) as threads:
        for lived in [threads.submit(live, client) for client in CLIENTS.values()]:
            lived.result()


@pytest.mark.ci
def test_groups_survive_leaving_dying_and_a_killed_broker(tmp_path: Path, groups: list[Group]) -> None:
    all_survive(tmp_path, groups, 4_000, {"group.initial.rebalance.delay.ms": "0"}, lambda client: client.short_session)


@pytest.mark.nightly
@pytest.mark.ci
@pytest.mark.timeout(1200)
def test_groups_survive_with_every_setting_at_its_default(tmp_path: Path, groups: list[Group]) -> None:
    all_survive(tmp_path, groups, 100_000, {}, lambda _: {})
