"""A directory with a living streams group goes from Odradek to Kafka 4.4.0 and back, twice.

A word count of Kafka Streams (two instances of two threads, standby tasks, exactly_once_v2) goes on at the same port.
Each count of a word comes once, and in order.
"""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from door.two_brokers import WAYS_OF_GROUPS, Door, Way
from odradek.protocol.messages.streams_groups import StreamsGroupDescribeRequest
from parity.side import Side
from support.brokers.python_clients import CLIENTS
from support.eventually import eventually
from support.kafka.java import java_or_skip
from support.kafka.wire import Wire
from support.kafka.word_count import GROUP, PARTITIONS, STREAMS_KEYS, TOPICS, Counts, Instance, write_lines

pytestmark = [pytest.mark.java, pytest.mark.ci]

KEYS = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    **STREAMS_KEYS,
}
THREADS = 4


class LivingApplication:
    """The word count, and the lines that were written for it."""

    def __init__(self, servers: str, directory: Path) -> None:
        for topic in TOPICS:
            CLIENTS["confluent-kafka"].create_topic(servers, topic, PARTITIONS)
        self._servers = servers
        self._chance, self._expected = Random(4711), Counter[str]()
        self.instances: list[Instance] = []
        for name in ("first", "second"):
            self.instances.append(Instance(name, servers, directory, "streams"))

    def go_on(self) -> None:
        """Asserts that new lines are counted, and that all counts until now are there once and in order."""
        write_lines(self._servers, self._chance, self._expected)
        # A new reader for each broker: librdkafka forgets a broker that stops (door/living_group.py).
        counts = Counts(self._servers)
        try:
            counts.wait_for(self._expected, self.instances)
        finally:
            counts.close()


def wait_until_calm(port: int, is_ours: bool) -> None:
    """Waits until all threads have their tasks, and each task with state has a standby task."""
    with Wire() as wire:
        side = Side(wire, port, is_ours)
        side.group(GROUP)
        found: list[object] = []

        def is_calm() -> bool:
            group = side.ask(StreamsGroupDescribeRequest([GROUP]), 0)["groups"][0]
            found[:] = [group]
            if group["groupState"] != "Stable" or len(group["members"]) != THREADS:
                return False
            roles = Counter(
                (role, task["subtopologyId"], partition)
                for member in group["members"]
                for role in ("activeTasks", "standbyTasks")
                for task in member["assignment"][role]
                for partition in task["partitions"]
            )
            active = {task for task in roles if task[0] == "activeTasks"}
            standby = {task for task in roles if task[0] == "standbyTasks"}
            assert set(roles.values()) == {1}, roles
            return len(active) == 2 * PARTITIONS and len(standby) == PARTITIONS

        eventually(lambda: f"the group is at rest: {found}", is_calm, patience_s=120)


@pytest.mark.parametrize("way", WAYS_OF_GROUPS)
def test_a_living_streams_group_goes_through_the_door(tmp_path: Path, way: Way) -> None:
    java_or_skip()
    door = Door(tmp_path, way, KEYS, ours={}, theirs={})
    application: LivingApplication | None = None
    try:
        door.start_ours()
        application = LivingApplication(door.servers, tmp_path)
        for instance in application.instances:
            instance.wait_until_running()
        for _ in range(2):
            application.go_on()
            wait_until_calm(door.ours.port, True)
            door.end_ours()
            door.start_kafka()
            application.go_on()
            wait_until_calm(door.kafka.port, False)
            door.end_kafka()
            door.start_ours()
        application.go_on()
        wait_until_calm(door.ours.port, True)
        for instance in application.instances:
            instance.stop()
        assert " ERROR " not in door.ours.log()
    finally:
        for instance in application.instances if application else ():
            instance.kill()
        door.end()
