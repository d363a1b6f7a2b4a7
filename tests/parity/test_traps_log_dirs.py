"""Edge cases of log directories: the same fixed steps on Odradek and on a real Kafka.

The brokers of the other parity tests have one directory each. The last test here starts two brokers with two
directories each, removes one directory while they run, and restores it.
"""

import os
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.messages.configs import IncrementalAlterConfigsRequest
from odradek.protocol.messages.log_dirs import AlterReplicaLogDirsRequest, DescribeLogDirsRequest
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.offsets import ListOffsetsRequest
from odradek.protocol.messages.topics import CreateTopicsRequest
from parity.side import Side, batch, same
from parity.two_brokers import TwoBrokers
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire

pytestmark = pytest.mark.java

Asked = DescribeLogDirsRequest.DescribableLogDirTopic
STORAGE_ERROR, NOT_LEADER = 56, 6
OF_THE_MACHINE = {"logDir", "totalBytes", "usableBytes"}


def described(side: Side, request: DescribeLogDirsRequest, version: int) -> list[dict[str, Any]]:
    """The DescribeLogDirs results without values that differ between machines and directories."""
    results = side.ask(request, version)["results"]
    for result in results:
        assert result.get("totalBytes", 1) > 0
        assert 0 < result.get("usableBytes", 1) <= result.get("totalBytes", 1)
    return [{key: value for key, value in result.items() if key not in OF_THE_MACHINE} for result in results]


@pytest.mark.parametrize("version", range(1, 6))
def test_describe_log_dirs(both: TwoBrokers, version: int) -> None:
    def scene(side: Side) -> Any:
        topic = side.topic(f"log-dirs-{version}", 2)
        side.produce(topic, batch(1, 2))
        return [
            described(side, DescribeLogDirsRequest([Asked(topic, [0, 1, 9]), Asked("nobody", [0])]), version),
            described(side, DescribeLogDirsRequest([Asked(topic, [1]), Asked(topic, [1])]), version),
            described(side, DescribeLogDirsRequest([]), version),
        ]

    same(both, scene)


@pytest.mark.parametrize("version", [1, 2])
def test_moves_that_can_not_be(both: TwoBrokers, version: int) -> None:
    def scene(side: Side) -> Any:
        topic = side.topic(f"moves-{version}", 1)
        home = side.ask(DescribeLogDirsRequest([Asked(topic, [0])]), 4)["results"][0]["logDir"]
        return [
            moved(side, path, name, index, version)
            for path, name, index in [
                (home, topic, 0),
                (home + "/", topic, 0),
                ("/nowhere", topic, 0),
                ("logs", topic, 0),
                ("", topic, 0),
                (home, topic, 9),
                (home, "nobody", 0),
                ("/nowhere", "nobody", 0),
                (home, "n" * 245, 0),
                (home, "", 0),
            ]
        ]

    same(both, scene)


def moved(side: Side, path: str, topic: str, index: int, version: int = 2) -> int:
    """Moves a partition to another directory. Returns the error code."""
    wanted = AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(topic, [index])
    request = AlterReplicaLogDirsRequest([AlterReplicaLogDirsRequest.AlterReplicaLogDir(path, [wanted])])
    return int(side.ask(request, version)["results"][0]["partitions"][0]["errorCode"])


class TwoDirs:
    """A broker with two directories. Tests choose partitions by directory, because each broker places them itself."""

    def __init__(self, root: Path, side: Side, first: Path) -> None:
        self.side = side
        self.a, self.b = first, root / "b"

    def lying_in(self, path: Path, topic: str = "t") -> list[int]:
        return sorted(int(p.name.rpartition("-")[2]) for p in path.glob(f"{topic}-[0-9]") if p.is_dir())

    def cordon(self, value: str) -> int:
        config = IncrementalAlterConfigsRequest.AlterableConfig("cordoned.log.dirs", 0, value)
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(4, "1", [config])
        return int(self.side.ask(IncrementalAlterConfigsRequest([resource], False), 1)["responses"][0]["errorCode"])

    def create(self, topic: str, partitions: int) -> int:
        request = CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(topic, partitions, 1)], 10_000)
        return int(self.side.ask(request, 7)["topics"][0]["errorCode"])

    def nothing_can_be_created(self, numbers: Iterator[int]) -> bool:
        return self.create(f"none-{next(numbers)}", 1) == 38

    def cordoned(self) -> list[bool]:
        return [result["isCordoned"] for result in self.side.ask(DescribeLogDirsRequest([]), 5)["results"]]

    def errors(self) -> list[int]:
        return [result["errorCode"] for result in self.side.ask(DescribeLogDirsRequest(None), 5)["results"]]

    def all_answers(self, indexes: list[int]) -> list[Any]:
        """The answers for several partitions, sorted, because each broker places partitions itself."""
        return sorted((self.answers(index) for index in indexes), key=str)

    def have_no_leader(self, indexes: list[int]) -> bool:
        """Whether Metadata says that none of these partitions has a leader."""
        return all(self.answers(index)[4]["leaderId"] == -1 for index in indexes)

    def answers(self, index: int) -> Any:
        """The answers of Produce, Fetch, ListOffsets and Metadata for a partition, without its leader epoch."""
        latest = ListOffsetsRequest.ListOffsetsPartition(partition_index=index, timestamp=-1)
        offsets = ListOffsetsRequest(-1, 0, [ListOffsetsRequest.ListOffsetsTopic("t", [latest])])
        produced = self.side.produce("t", batch(1), partition=index)
        fetched = self.side.fetch("t", 0, partition={"partition": index})["responses"][0]["partitions"][0]
        asked = MetadataRequest([MetadataRequest.MetadataRequestTopic(name="t")])
        [known] = [p for p in self.side.ask(asked, 9)["topics"][0]["partitions"] if p["partitionIndex"] == index]
        del known["leaderEpoch"], known["partitionIndex"]
        listed = self.side.ask(offsets, 5)["topics"][0]["partitions"][0]
        return produced["errorCode"], produced["baseOffset"], fetched["errorCode"], listed["errorCode"], known


def offline_alike(answer: Any) -> Any:
    """Replaces the error for an offline partition by the error for a partition without a leader.

    For a partition without its directory, Kafka answers either, depending on whether its broker or its controller is
    first at a start. Clients retry after both.
    """
    return [NOT_LEADER if part == STORAGE_ERROR else part for part in answer]


@pytest.mark.ci
def test_two_directories_of_which_one_fails_and_comes_back(tmp_path: Path) -> None:
    """Covers placement, cordons, a move, the loss of a directory at run time, and starts without it and with it."""
    with Wire() as wire:
        ours, kafka = tmp_path / "ours", tmp_path / "kafka"
        for root in (ours, kafka):
            root.mkdir()
        keys = {
            "log.flush.offset.checkpoint.interval.ms": "500",
            "log.initial.task.delay.ms": "500",
            "log.retention.ms": "-1",
        }
        ours_facts = _story(OurBroker(ours, {**keys, "log.dirs": f"{ours / 'logs'},{ours / 'b'}"}), ours, wire, True)
        theirs = RealKafka(kafka, {**keys, "log.dirs": f"{kafka / 'logs'},{kafka / 'b'}"})
        kafka_facts = _story(theirs, kafka, wire, False)
    assert ours_facts == kafka_facts


def _story(broker: OurBroker | RealKafka, root: Path, wire: Wire, is_ours: bool) -> list[Any]:
    facts: list[Any] = []
    broker.start()
    try:
        side = Side(wire, broker.port, is_ours)
        two = TwoDirs(root, side, root / "logs")
        side.topic("t", 4)
        facts.append([len(two.lying_in(path)) for path in (two.a, two.b)])
        facts.append([two.answers(index) for index in range(4)])

        facts.append(two.cordon(str(two.b)))
        eventually("one is cordoned", lambda: two.cordoned() == [False, True])
        facts.append(moved(side, str(two.b), "t", two.lying_in(two.a)[0]))
        side.topic("new", 2)
        facts.append([two.lying_in(path, "new") for path in (two.a, two.b)])
        facts.append([two.cordon("/nowhere"), two.cordon("b"), two.cordon("*")])
        eventually("both are cordoned", lambda: two.cordoned() == [True, True])
        # Kafka's controller learns of it from the broker's next heartbeat.
        eventually("nothing can be created", partial(two.nothing_can_be_created, count()))
        facts.append(moved(side, str(two.a), "t", two.lying_in(two.b)[0]))
        facts.append(two.cordon(""))
        eventually("none is cordoned", lambda: two.cordoned() == [False, False])

        mover = two.lying_in(two.a)[0]
        facts.append(moved(side, str(two.b), "t", mover))
        eventually("the copy has come", lambda: mover in two.lying_in(two.b))
        eventually("the old copy has gone", lambda: mover not in two.lying_in(two.a))
        facts.append(two.answers(mover))

        lost, kept = two.lying_in(two.b), two.lying_in(two.a)
        two.b.rename(root / "away")
        eventually("the directory is offline", lambda: 56 in two.errors() and two.have_no_leader(lost))
        facts.append([two.all_answers(indexes) for indexes in (lost, kept)])
        facts.append([moved(side, str(two.b), "t", kept[0]), moved(side, str(two.a), "t", lost[0]), two.errors()])

        broker.stop()
        two.b.write_text("no directory")
        broker.start()
        side = two.side = Side(wire, broker.port, is_ours)
        wire.close(broker.port, "main")
        side.wait_for_leaders("new", 2)
        eventually("the directory is offline again", partial(two.have_no_leader, lost))
        facts.append([[offline_alike(answer) for answer in two.all_answers(indexes)] for indexes in (lost, kept)])
        facts.append(two.errors())

        broker.stop()
        two.b.unlink()
        os.rename(root / "away", two.b)
        broker.start()
        wire.close(broker.port, "main")
        side.wait_for_leaders("t", 4)
        facts.append([two.all_answers(indexes) for indexes in (lost, kept)])
    finally:
        broker.kill()
    return facts
