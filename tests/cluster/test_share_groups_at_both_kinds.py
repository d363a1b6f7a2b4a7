"""Share groups at two brokers of ours and one of Apache Kafka's, which are killed in turn while members work.

Each broker is the group coordinator of a group, the share coordinator of share partitions, and a leader of records. No
record is lost, and none that was acknowledged without an error is acknowledged a second time.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType

from clients.share_members import ShareMembers
from cluster.rolling.places import ADMIN_TIMEOUT_S, QUORUM, REPLICAS, Places
from odradek.broker.coordinator.partitioning import partition_for
from odradek.client.admin import Admin
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.messages.groups import FindCoordinatorRequest
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.names.topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC
from support.brokers.asking import Asking
from support.eventually import eventually
from support.kafka.real_controllers import RealControllers

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOPIC = "work"
PARTITIONS = 9
NODES = (1, 2, 3)
OURS, KAFKAS = (1, 2), (3,)
RECORDS_A_TURN = 30
RELEASED_EACH = 7
"""Of the records that a member gets for the first time it releases those whose number is a multiple of this."""
GROUP_KEY, SHARE_KEY = 0, 2
"""KeyType of FindCoordinator."""
CONFIGS = {
    "share.coordinator.state.topic.replication.factor": str(REPLICAS),
    "share.coordinator.state.topic.min.isr": "2",
    "share.coordinator.state.topic.num.partitions": str(len(NODES)),  # Kafka reads the count once, at its start
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "500",
}


def group_at(node_id: int) -> str:
    """A group whose coordinator is this broker while it leads its preferred partition of the offsets."""
    return next(name for name in map(str, range(100)) if partition_for(name, len(NODES)) == NODES.index(node_id))


GROUPS = {group_at(node_id): node_id for node_id in NODES}
"""Group -> its first coordinator."""


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    """Brokers 1 and 2 are ours, 3 is Kafka's. Each is the preferred leader of a third of the partitions."""
    with contextlib.ExitStack() as stack:
        controllers = stack.enter_context(RealControllers(tmp_path / "controllers", configs=QUORUM))
        places = stack.enter_context(Places(tmp_path, controllers, CONFIGS))
        places.start("ours", OURS)
        places.start("kafka", KAFKAS)
        for name, partitions, config in (
            (TOPIC, PARTITIONS, {}),
            (OFFSETS_TOPIC, len(NODES), {"cleanup.policy": "compact"}),
            (SHARE_STATE_TOPIC, len(NODES), {"cleanup.policy": "delete", "retention.ms": "-1"}),
        ):
            replicas = [
                [NODES[(index + place) % len(NODES)] for place in range(REPLICAS)] for index in range(partitions)
            ]
            new = NewTopic(name, partitions, replica_assignment=replicas, config=config)
            places.admin.create_topics([new])[name].result(ADMIN_TIMEOUT_S)
        for group in GROUPS:
            entry = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
            resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=[entry])
            places.admin.incremental_alter_configs([resource])[resource].result(ADMIN_TIMEOUT_S)
        places.until_full_isr()
        yield places
        for node_id in OURS:
            assert " ERROR " not in places[node_id].our_log()


@pytest.fixture(scope="module")
def members() -> Iterator[ShareMembers]:
    with ShareMembers() as running:
        yield running


class Load:
    """A producer of numbers, and two members of each group, which take turns. Keeps the books of both."""

    def __init__(self, places: Places, members: ShareMembers) -> None:
        self._members = members
        settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": places.bootstrap_servers,
            "enable.idempotence": True,
        }
        self._producer = Producer(settings)
        self._next = 0
        self.written: set[int] = set()
        """The numbers whose writes are acknowledged."""
        self.delivered: dict[str, set[int]] = {group: set() for group in GROUPS}
        self.accepted: dict[str, Counter[int]] = {group: Counter() for group in GROUPS}
        """Group -> number -> how often it was accepted without an error."""
        self.uncertain: dict[str, set[int]] = {group: set() for group in GROUPS}
        """Group -> the numbers whose acceptance returned an error: it may be stored or not."""
        for group in GROUPS:
            for name in self._names(group):
                servers = {"bootstrap_servers": places.bootstrap_servers, "share_acknowledgement_mode": "explicit"}
                members.start(name, 0, group, TOPIC, **servers)

    @staticmethod
    def _names(group: str) -> tuple[str, str]:
        return f"{group}-a", f"{group}-b"

    def _has_written(self, error: object, message: Message) -> None:
        assert error is None, error
        self.written.add(int(message.value() or b""))

    def write(self) -> int:
        """Sends some records, and returns the first number after them."""
        for number in range(self._next, self._next + RECORDS_A_TURN):
            self._producer.produce(TOPIC, b"%d" % number, partition=number % PARTITIONS, callback=self._has_written)
        self._next += RECORDS_A_TURN
        self._producer.poll(0)
        return self._next

    def read(self) -> None:
        """Each member polls once, and acknowledges what it gets."""
        for group in GROUPS:
            for name in self._names(group):
                self._read(group, name)

    def _read(self, group: str, name: str) -> None:
        got = self._members.poll(name, ms=50)
        if not got:
            return
        releases = {value for _, _, count, value in got if count == 1 and int(value) % RELEASED_EACH == 0}
        self._members.acknowledge(name, ["RELEASE" if value in releases else "ACCEPT" for *_, value in got])
        failed = self._members.commit(name)
        self.delivered[group] |= {int(value) for *_, value in got}
        for partition, _, _, value in got:
            if f"{TOPIC}-{partition}" in failed:
                self.uncertain[group].add(int(value))
            elif value not in releases:
                self.accepted[group][int(value)] += 1
        assert max(self.accepted[group].values(), default=0) <= 1, f"{group} got a record again that it had accepted"

    def until_read(self, last: int, *, writing: bool) -> None:
        """Takes turns until each group got every number below ``last``."""

        def is_read() -> bool:
            if writing:
                self.write()
            self.read()
            return all(delivered.issuperset(range(last)) for delivered in self.delivered.values())

        eventually(
            lambda: (
                f"all groups got {last} records; missing: "
                f"{ {group: sorted(set(range(last)) - found)[:20] for group, found in self.delivered.items()} }"
            ),
            is_read,
        )

    def end(self) -> int:
        """Waits until all writes are acknowledged. Returns the count."""
        assert self._producer.flush(ADMIN_TIMEOUT_S) == 0
        return self._next

    def close(self) -> None:
        """The members leave."""
        for group in GROUPS:
            for name in self._names(group):
                self._members.close(name)


def coordinated_by(places: Places, victim: int) -> tuple[set[str], set[str]]:
    """The groups and the share partitions whose coordinator a broker is, as the broker itself answers."""
    asking = Asking(places[victim].broker.port)
    (topic,) = asking.ask(MetadataRequest([MetadataRequest.MetadataRequestTopic(name=TOPIC)]), 12).topics
    share = [
        SharePartitionKey(group, topic.topic_id, index).coordinator_key
        for group in GROUPS
        for index in range(PARTITIONS)
    ]

    def found(key_type: int, keys: list[str]) -> set[str]:
        answer = asking.ask(FindCoordinatorRequest(key_type=key_type, coordinator_keys=keys), 6)
        return {one.key for one in answer.coordinators if one.node_id == victim}

    return found(GROUP_KEY, list(GROUPS)), found(SHARE_KEY, share)


async def lag(servers: str) -> int:
    """The records that the groups have not finished."""
    async with Admin(servers) as admin:
        offsets = await admin.list_share_group_offsets(list(GROUPS))
    return sum(1 if at is None or at.lag is None else at.lag for found in offsets.values() for at in found.values())


@pytest.mark.nightly
def test_each_coordinator_is_killed_under_load(places: Places, members: ShareMembers) -> None:
    load = Load(places, members)
    load.until_read(load.write(), writing=False)
    for victim in NODES:
        groups, share = coordinated_by(places, victim)
        assert groups == {group for group, node_id in GROUPS.items() if node_id == victim}
        assert share, f"broker {victim} coordinates no share partition"
        load.write()
        load.read()
        last = load.write()
        places[victim].broker.kill()
        load.until_read(last, writing=True)
        load.until_read(load.write(), writing=False)
        places[victim].start(places[victim].kind)
        places.until_full_isr()
        places.elect_preferred()
        load.until_read(load.write(), writing=True)
    count = load.end()
    assert load.written == set(range(count))

    def is_done() -> bool:
        load.read()
        return asyncio.run(lag(places.bootstrap_servers)) == 0

    eventually("the groups have finished all records", is_done)
    load.close()
    for group, accepted in load.accepted.items():
        assert accepted.keys() | load.uncertain[group] == load.written
