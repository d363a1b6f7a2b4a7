"""A crash at every write point of the metadata: commits, snapshots, their removal, starts and stops.

Whichever unsynced data is lost, the next start finds all committed changes, and none of them partly.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.controller.broker_lifecycle import BrokerLifecycle
from odradek.broker.metadata.controller.controller import Controller
from odradek.broker.metadata.controller.own_controller import ProducerIds
from odradek.broker.metadata.controller.topics import create_topics
from odradek.broker.metadata.image.image import MetadataDelta, MetadataImage, ResourceType
from odradek.broker.metadata.image.replay import publish, replay_aside
from odradek.broker.metadata.publisher.service import MetadataService
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.messages.metadata_records import (
    AccessControlEntryRecord,
    ConfigRecord,
    RemoveAccessControlEntryRecord,
    RemoveTopicRecord,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import CreateTopicsRequest
from odradek.storage.directory.log_directory import LogDirectory
from support.brokers.metadata_images import ENDPOINT, Topic, numbered_uuids
from support.disks.simulated_disk import SimulatedDisk

NOW_MS = 1_795_000_000_000
HISTORIES = 5
STEPS = 30

Facts = tuple[object, ...]


def facts(image: MetadataImage) -> Facts:
    """The metadata of users, without what a start adds (registrations, leaders)."""
    topics = {(topic.name, topic.topic_id, len(topic.partitions)) for topic in image.topics_by_name.values()}
    return topics, dict(image.configs), set(image.acls), image.next_producer_id


class History:
    """A service that is used, stopped, killed and started. At each write point a crash is tested."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.seed = seed
        self.points = 0
        self.refused: list[str] = []
        self._chance = random.Random(seed)
        self._uuid = numbered_uuids()
        self._now_ms = NOW_MS
        segment_bytes, retention_bytes = self._chance.choice((3000, 5000)), self._chance.choice((1000, 12000))
        self._config = ServerConfig.load(
            None,
            [
                "node.id=1",
                f"internal.metadata.log.segment.bytes={segment_bytes}",
                f"metadata.max.retention.bytes={retention_bytes}",
            ],
            {},
        )
        self._controller = Controller(1, self._config, self._uuid)
        self._image_root = directory / "image"
        self._image_root.mkdir()
        (directory / "live").mkdir()
        self.disk = SimulatedDisk(directory / "live", NOW_MS)
        self._allowed: list[Facts] = []
        with self._one_of_these(facts(MetadataImage()), self._with_bootstrap()):
            self.disk.before = self._crash
            self._open()

    def _with_bootstrap(self) -> Facts:
        image = MetadataImage(configs={(ResourceType.BROKER, ""): {"min.insync.replicas": "1"}})
        return facts(image)

    def _open(self) -> None:
        self._directory, self._service, self._lifecycle = self._start(self.disk)
        self._producer_ids = ProducerIds(self._service, self._controller)
        self._now = facts(self._service.image)

    def _start(self, disk: SimulatedDisk) -> tuple[LogDirectory, MetadataService, BrokerLifecycle]:
        directory = LogDirectory.open(disk.root, disk, chance=random.Random(1))
        try:
            meta = directory.meta
            directory_id = meta.directory_id if meta else b"directory id 123"
            service = MetadataService.open(
                directory,
                self._config,
                directory_id=directory_id,
                now_ms=self._now_ms,
                random_uuid=self._uuid,
            )
            directory.load_logs(lambda topic: pytest.fail(f"{topic} is not the metadata log"), self._now_ms)
            lifecycle = BrokerLifecycle(service, self._controller)
            clean_epoch = directory.previous_broker_epoch
            lifecycle.start([ENDPOINT], self._now_ms, directory_ids=[directory_id], clean_epoch=clean_epoch)
        except BaseException:
            directory.abort()
            raise
        return directory, service, lifecycle

    @contextmanager
    def _one_of_these(self, *allowed: Facts) -> Iterator[None]:
        self._allowed = list(allowed)
        yield
        self._allowed = [facts(self._service.image)]

    def _crash(self, number: int, what: str) -> None:
        chance = random.Random(f"{self.seed}/{number}")
        self.points += 1
        image = self.disk.survivors(self._image_root, chance, has_power=chance.random() < 0.3)
        try:
            directory, service, _ = self._start(image)
        except Exception as problem:
            problem.add_note(f"crash at write point {number} of seed {self.seed}: {what}")
            raise
        found = facts(service.image)
        directory.abort()
        assert found in self._allowed, f"crash at write point {number} of seed {self.seed}: {what}"

    # Steps -------------------------------------------------------------------

    def run(self) -> None:
        """Runs STEPS random steps."""
        steps: list[Callable[[], None]] = [self.commit] * 8 + [self.snapshot] * 4
        steps += [self.clean, self.take_producer_ids, self.restart, self.kill]
        for _ in range(STEPS):
            self._now_ms += self._chance.randrange(100_000)
            self._chance.choice(steps)()

    def commit(self) -> None:
        """Creates, deletes or configures a topic."""
        image, records = self._service.image, list[Message]()
        topics, acls = list(image.topics_by_id), list(image.acls)
        kind = self._chance.randrange(5)
        if kind == 0 and topics:
            records.append(RemoveTopicRecord(self._chance.choice(topics)))
        elif kind == 1 and acls:
            records.append(RemoveAccessControlEntryRecord(self._chance.choice(acls)))
        elif kind == 2:
            records.append(AccessControlEntryRecord(id=self._uuid(), resource_name="r"))
        elif kind == 3:
            records.append(ConfigRecord(ResourceType.GROUP, "g", "k", str(self._chance.randrange(99))))
        else:
            wanted = [Topic(f"t{self._chance.randrange(15)}", self._chance.choice((1, 4)), 1)]
            records += run_to_end(create_topics(image, CreateTopicsRequest(wanted), self._controller)).records
        after = image.view()
        delta = MetadataDelta()
        for record in records:
            replay_aside(after, record, delta)
        publish(after, delta)
        with self._one_of_these(facts(image), facts(after)):
            self._service.commit(records, self._now_ms)

    def take_producer_ids(self) -> None:
        """Allocates a block of producer ids."""
        before, after = self._service.image, self._service.image.view()
        after.next_producer_id += 1000
        with self._one_of_these(facts(before), facts(after)):
            for _ in range(1000):
                self._producer_ids.next_id(self._now_ms)

    def snapshot(self) -> None:
        """Writes a snapshot and removes older files that are no longer needed."""
        self._service.write_snapshot(self._now_ms)

    def clean(self) -> None:
        """Only removes files, also those that were marked earlier."""
        self._service.log.clean(self._now_ms)
        self._directory.remove_deleted(self._now_ms)

    def restart(self) -> None:
        """Stops cleanly and starts."""
        before = facts(self._service.image)
        self._lifecycle.stop(self._now_ms)
        self._directory.close(self._lifecycle.broker_epoch)
        self._open()
        assert facts(self._service.image) == before

    def kill(self) -> None:
        """Kills the process and starts it again."""
        before = facts(self._service.image)
        self._directory.abort()
        self._open()
        assert facts(self._service.image) == before


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_no_crash_loses_what_was_committed(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path, seed)
    history.run()
    assert history.points > 100
