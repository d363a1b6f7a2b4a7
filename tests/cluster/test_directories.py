"""Several log directories of a broker under a real Kafka controller: places of replicas, failures, cordoned
directories.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from odradek.broker.metadata.image.image import NO_LEADER, MetadataDelta, MetadataImage
from odradek.broker.metadata.image.replay import replay
from odradek.broker.metadata.log.log_reader import plain_records
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.configs import IncrementalAlterConfigsRequest
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.topics import CreateTopicsRequest
from odradek.protocol.records.batch import iterate_headers
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import read_meta_properties
from support.brokers.asking import Asking
from support.eventually import eventually
from support.kafka.java import run_class
from support.kafka.real_controllers import RealControllers

pytestmark = [pytest.mark.java, pytest.mark.ci]

PARTITIONS = 6


@pytest.fixture(scope="module")
def controllers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealControllers]:
    """One controller for this module."""
    with RealControllers(tmp_path_factory.mktemp("controllers")) as started:
        yield started


class Two:
    """A broker with two log directories, and a topic with partitions in both."""

    def __init__(self, controllers: RealControllers, root: Path, node_id: int, **configs: str) -> None:
        self.controller = controllers.nodes[0]
        self.node_id = node_id
        self.a, self.b = root / "logs", root / "b"
        keys = {
            "log.dirs": f"{self.a},{self.b}",
            "log.flush.offset.checkpoint.interval.ms": "50",
            "log.initial.task.delay.ms": "1",
            "log.retention.ms": "-1",
            **{key.replace("_", "."): value for key, value in configs.items()},
        }
        self.broker = controllers.broker(root, node_id, keys)
        self.topic = f"spread{node_id}"

    @property
    def asking(self) -> Asking:
        """Sends requests to the broker."""
        return Asking(self.broker.port)

    def fill(self) -> None:
        """Creates the topic, with one record in each partition."""
        create = CreateTopicsRequest  # another test's broker may not be fenced yet
        here = [create.CreatableReplicaAssignment(index, [self.node_id]) for index in range(PARTITIONS)]
        request = create([create.CreatableTopic(self.topic, -1, -1, here)], 10_000)
        assert self.asking.ask(request, 7).topics[0].error_code == 0
        eventually("the broker knows the topic", self.is_known)
        for index in range(PARTITIONS):
            eventually(f"{index} is led", partial(self.leads, index))
            assert self.asking.produce(self.topic, index, b"%d" % index) == 0

    def in_(self, path: Path, topic: str | None = None) -> list[int]:
        """The partitions of a topic in a directory."""
        return [index for index in range(PARTITIONS) if (path / f"{topic or self.topic}-{index}").is_dir()]

    def id_of(self, path: Path) -> bytes:
        """``directory.id``."""
        meta = read_meta_properties(Files(), path)
        assert meta is not None
        return meta.directory_id

    def is_known(self) -> bool:
        """Whether the broker knows the topic."""
        request = MetadataRequest([MetadataRequest.MetadataRequestTopic(name=self.topic)], False)
        return len(self.asking.ask(request, 9).topics[0].partitions) == PARTITIONS

    def leads(self, index: int) -> bool:
        """Whether the broker reports that it leads a partition."""
        return self.asking.partition(self.topic, index)[1] == self.node_id

    def has_no_leader(self, index: int) -> bool:
        """Whether the broker reports that a partition has no leader."""
        return self.asking.partition(self.topic, index)[1] == NO_LEADER

    def image(self) -> MetadataImage:
        """The records that the controller has written so far."""
        image = MetadataImage()
        for path in sorted((self.controller.log_dir / "__cluster_metadata-0").glob("*.log")):
            data = path.read_bytes()
            whole = sum(header.size_in_bytes for _, header in iterate_headers(data))
            for record in plain_records(data[:whole], path):
                replay(image, record.message, MetadataDelta(), record.version)
        return image

    def assigned(self) -> dict[int, bytes]:
        """The directory of each partition in the controller's metadata."""
        topic = self.image().topics_by_name[self.topic]
        return {index: one.directory_of(self.node_id) for index, one in topic.partitions.items()}

    def lies_in(self) -> dict[int, bytes]:
        """The directory of each partition on the disks."""
        return {index: self.id_of(path) for path in (self.a, self.b) for index in self.in_(path)}

    def agree(self) -> None:
        """Waits until the controller knows the directory of each partition."""
        eventually(lambda: f"{self.assigned()} is {self.lies_in()}", lambda: self.assigned() == self.lies_in())

    def values(self, index: int) -> tuple[int, list[bytes]]:
        """The error code and the records of a partition."""
        return self.asking.fetch(self.topic, index)


def test_controllers_know_the_directory_of_each_replica(controllers: RealControllers, tmp_path: Path) -> None:
    two = Two(controllers, tmp_path, 1)
    with two.broker:
        two.fill()
        assert (len(two.in_(two.a)), len(two.in_(two.b))) == (3, 3)
        two.agree()
        registered = two.image().brokers[1]
        assert set(registered.directories) == {two.id_of(two.a), two.id_of(two.b)}
        server = ("--bootstrap-server", two.broker.bootstrap_servers)
        described = run_class("org.apache.kafka.tools.LogDirsCommand", *server, "--describe", timeout_s=120)
        [answer] = json.loads(described.stdout[described.stdout.index("{") :])["brokers"]
        for one in answer["logDirs"]:
            names = [found["partition"] for found in one["partitions"] if found["partition"].startswith(two.topic)]
            assert sorted(names) == [f"{two.topic}-{index}" for index in two.in_(Path(one["logDir"]))]

        before = two.lies_in()
        two.broker.kill()
        two.broker.start()
        assert two.lies_in() == before == two.assigned()
        assert [two.values(index) for index in range(PARTITIONS)] == [(0, [b"%d" % at]) for at in range(PARTITIONS)]

        # A replica is moved by hand while the broker is down.
        moved = two.in_(two.b)[0]
        assert two.broker.stop() == 0
        (two.b / f"{two.topic}-{moved}").rename(two.a / f"{two.topic}-{moved}")
        two.broker.start()
        assert len(two.in_(two.a)) == 4
        two.agree()
        assert two.values(moved) == (0, [b"%d" % moved])

        # A directory that is cordoned at run time gets no new partition.
        config = IncrementalAlterConfigsRequest
        change = config.AlterConfigsResource(4, "1", [config.AlterableConfig("cordoned.log.dirs", 0, str(two.b))])
        assert two.asking.ask(config([change]), 1).responses[0].error_code == 0
        eventually("cordoned", lambda: two.image().brokers[1].cordoned_directories == (two.id_of(two.b),))
        assert two.asking.create("later", PARTITIONS) == 0
        eventually("all in the other", lambda: two.in_(two.a, "later") == list(range(PARTITIONS)))
        two.broker.stop()
        two.broker.start()
        assert two.image().brokers[1].cordoned_directories == (two.id_of(two.b),), "a start says it again"
        assert " ERROR " not in two.broker.log()


def test_failed_directory_leaves_the_other_one_served(controllers: RealControllers, tmp_path: Path) -> None:
    two = Two(controllers, tmp_path, 2)
    with two.broker:
        two.fill()
        two.agree()
        lost, kept, away = two.in_(two.b), two.in_(two.a), tmp_path / "away"
        lost_id = two.id_of(two.b)
        assert len(lost) == len(kept) == 3

        def check(error: ErrorCode) -> None:
            """Asserts that the controller has moved the leaders of one directory, and the rest is served."""
            for index in lost:
                eventually(f"{index} is not led", partial(two.has_no_leader, index))
                assert two.asking.produce(two.topic, index, b"x") == error
            for index in kept:
                assert two.leads(index)
                assert two.values(index) == (0, [b"%d" % index])
            image = two.image()
            assert image.brokers[2].directories == (two.id_of(two.a),)
            leaders = {at: one.leader for at, one in image.topics_by_name[two.topic].partitions.items()}
            assert leaders == {**dict.fromkeys(lost, NO_LEADER), **dict.fromkeys(kept, 2)}

        two.b.rename(away)  # the next checkpoint does not find the directory, as with a removed disk
        check(ErrorCode.KAFKA_STORAGE_ERROR)

        # A start without it: a file is at its path.
        two.broker.stop()
        two.b.write_text("a disk that could not be mounted")
        two.broker.start()
        check(ErrorCode.NOT_LEADER_OR_FOLLOWER)

        # It can be opened, and a log in it can't be read after this broker has registered.
        two.broker.kill()
        two.b.unlink()
        away.rename(two.b)
        segment = two.b / f"{two.topic}-{lost[0]}" / f"{0:020d}.log"
        segment.rename(tmp_path / "segment")
        segment.mkdir()
        two.broker.start()
        check(ErrorCode.NOT_LEADER_OR_FOLLOWER)

        two.broker.stop()
        segment.rmdir()
        (tmp_path / "segment").rename(segment)
        two.broker.start()
        assert lost_id in two.image().brokers[2].directories
        for index in range(PARTITIONS):
            eventually(f"{index} is led again", partial(two.leads, index))
            assert two.values(index) == (0, [b"%d" % index])


def test_broker_ends_if_no_controller_hears_of_the_failure(controllers: RealControllers, tmp_path: Path) -> None:
    two = Two(controllers, tmp_path, 3, log_dir_failure_timeout_ms="1000")
    with two.broker:
        two.fill()
        controllers.nodes[0].kill()
        try:
            two.b.rename(tmp_path / "away")
            assert two.broker.process.wait() != 0
        finally:
            controllers.nodes[0].start()
        text = two.broker.log()
        assert "no controller could be told within log.dir.failure.timeout.ms (1000 ms)" in text
        assert "Traceback" not in text
        (tmp_path / "away").rename(two.b)
        two.broker.start()
        eventually("all are led", lambda: all(two.leads(index) for index in range(PARTITIONS)))


def test_followed_replicas_of_a_lost_disk_are_copied_anew(controllers: RealControllers, tmp_path: Path) -> None:
    """A real broker leads. Ours loses a disk, starts without it, and then with an empty one."""
    leader_id = 5
    two = Two(controllers, tmp_path, 4, replica_fetch_backoff_ms="100")
    with controllers.kafka_broker(tmp_path / "kafka", leader_id) as kafka, two.broker:
        leader = Asking(kafka.port)
        create = CreateTopicsRequest
        both = [create.CreatableReplicaAssignment(index, [leader_id, 4]) for index in range(PARTITIONS)]
        assert leader.ask(create([create.CreatableTopic(two.topic, -1, -1, both)], 10_000), 7).topics[0].error_code == 0

        def in_sync() -> list[int]:
            """The partitions with our replica in the ISR."""
            topic = two.image().topics_by_name[two.topic]
            return [index for index, one in sorted(topic.partitions.items()) if 4 in one.isr]

        for index in range(PARTITIONS):
            eventually("the record is taken", partial(is_taken, leader, two.topic, index))
        eventually("all are in sync", lambda: in_sync() == list(range(PARTITIONS)))
        two.agree()
        lost, kept, old_id = two.in_(two.b), two.in_(two.a), two.id_of(two.b)
        assert lost
        assert kept
        two.broker.stop()
        two.b.rename(tmp_path / "away")
        two.b.write_text("a disk that could not be mounted")
        two.broker.start()
        eventually("those of one directory are in sync", lambda: in_sync() == kept)

        two.broker.stop()
        two.b.unlink()
        two.broker.start()
        assert two.id_of(two.b) != old_id
        eventually("all are in sync again", lambda: in_sync() == list(range(PARTITIONS)))
        two.agree()


def is_taken(asking: Asking, topic: str, index: int) -> bool:
    """Appends one record; returns whether the leader accepted it."""
    return asking.produce(topic, index, b"%d" % index) == ErrorCode.NONE
