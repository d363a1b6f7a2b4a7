"""A broker with two log directories, in this process."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from odradek.protocol.messages.configs import IncrementalAlterConfigsRequest
from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.asking import Asking
from support.eventually import eventually

PARTITIONS = 6


class TwoLogDirs:
    """A broker with two log directories."""

    def __init__(self, root: Path, configs: Mapping[str, str] = MappingProxyType({})) -> None:
        self.a, self.b = root / "a", root / "b"
        self.configs = {
            "log.dirs": f"{self.a},{self.b}",
            "offsets.topic.num.partitions": "1",
            "log.flush.offset.checkpoint.interval.ms": "50",
            "log.initial.task.delay.ms": "1",
            "log.retention.ms": "-1",
            "log.segment.delete.delay.ms": "60000",
            **configs,
        }
        self.broker = InProcessBroker(root, self.configs)
        self.broker.start()
        self.asking = Asking(self.broker.port)

    def home_of(self, topic: str, partition: int) -> Path:
        """The directory that has a partition."""
        [found] = [path for path in (self.a, self.b) if (path / f"{topic}-{partition}").is_dir()]
        return found

    def other(self, path: Path) -> Path:
        """The other directory."""
        return self.b if path == self.a else self.a

    def fill(self, topic: str = "t") -> dict[int, list[bytes]]:
        """Creates a topic with one record in each partition."""
        assert self.asking.create(topic, PARTITIONS) == 0
        records = {index: [b"%d" % index] for index in range(PARTITIONS)}
        for index, values in records.items():
            assert self.asking.produce(topic, index, *values) == 0
        return records

    def in_(self, path: Path, topic: str = "t") -> list[int]:
        """The partitions of a topic in a directory."""
        return [index for index in range(PARTITIONS) if (path / f"{topic}-{index}").is_dir()]

    def moved(self, topic: str, partition: int, to: Path) -> None:
        """Waits until a partition is in a directory."""
        eventually(f"{topic}-{partition} in {to}", (to / f"{topic}-{partition}").is_dir)

    def configure(self, key: str, value: str) -> int:
        """Sets a key of the broker. Returns the error code."""
        config = IncrementalAlterConfigsRequest.AlterableConfig(key, 0, value)
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(4, "1", [config])
        return int(self.asking.ask(IncrementalAlterConfigsRequest([resource], False), 1).responses[0].error_code)
