"""The invariants between brokers, checked inside them and on their disks after every few steps.

Owns: the known state of each log. Never does: changing anything, awaiting. The invariants: (1) committed records are in
every later leader, (2) one appender in each leader epoch, (3) logs are equal below the high watermark, (4) a leader's
high watermark never decreases, (5) it is at most the log end offset of each member of the maximal ISR, (6) the leader's
ISR is that of the metadata.
"""

from collections.abc import Iterator
from typing import NamedTuple

from cluster.simulator.history import History, ViolationError
from cluster.simulator.nodes import BrokerNode, ControllerNode
from odradek.broker.metadata.image.image import PartitionImage
from odradek.broker.replicas.isr import InSyncReplicas
from odradek.protocol.records.batch import HEADER, BatchHeader, iterate_headers

Key = tuple[str, int]
FIRST_SEGMENT = f"{0:020}.log"


class Batch(NamedTuple):
    """A batch in a log. ``end``: the offset after its last record; ``file_end``: the position after its bytes."""

    base: int
    end: int
    epoch: int
    crc: int
    producer: tuple[int, int]
    file_end: int


class LogOnDisk:
    """The batches of one replica. Only new ones are read."""

    def __init__(self, broker: BrokerNode, key: Key) -> None:
        self._broker = broker
        self._key = key
        self.batches: list[Batch] = []
        self.checked = 0
        """The number of batches that were compared with those of the other replicas."""
        self.below = 0
        """The number of batches that were below a high watermark."""

    @property
    def end(self) -> int:
        return self.batches[-1].end if self.batches else 0

    def look(self) -> None:
        """Reads appended batches, and drops truncated ones, since the last call."""
        data = data_of(self._broker, self._key)
        while self.batches and not self._is_there(data, self.batches[-1]):
            self.batches.pop()
        self.checked = min(self.checked, len(self.batches))
        self.below = min(self.below, len(self.batches))
        position = self.batches[-1].file_end if self.batches else 0
        if len(data) - position < 61:
            return
        for at, header in iterate_headers(data, position):
            end = header.base_offset + header.last_offset_delta + 1
            self.batches.append(
                Batch(
                    header.base_offset,
                    end,
                    header.partition_leader_epoch,
                    header.crc,
                    (header.producer_id, header.base_sequence),
                    at + header.size_in_bytes,
                )
            )

    def _is_there(self, data: bytes | bytearray, batch: Batch) -> bool:
        """Whether the last known batch is still at its place."""
        start = self.batches[-2].file_end if len(self.batches) > 1 else 0
        if len(data) < batch.file_end:
            return False
        header = BatchHeader._make(HEADER.unpack_from(data, start))
        return (header.base_offset, header.partition_leader_epoch, header.crc) == (batch.base, batch.epoch, batch.crc)


class Checks:
    """The checks of all brokers of one life."""

    def __init__(
        self, controller: ControllerNode, brokers: list[BrokerNode], topics: tuple[str, ...], history: History
    ) -> None:
        self._history = history
        self._controller = controller
        self._brokers = brokers
        self._topics = topics
        self.logs: dict[tuple[str, Key], LogOnDisk] = {}
        self._written: dict[tuple[Key, int, int], tuple[int, str]] = {}
        """(partition, leader epoch, base offset) -> CRC of the batch, and the place where it was found first."""
        self.committed: dict[Key, dict[int, Batch]] = {}
        """Partition -> base offset -> the batch that a high watermark has passed."""
        self._committed_end: dict[Key, int] = {}
        self._high_watermarks: dict[tuple[str, int, Key, int], int] = {}
        self.looks = 0
        self.elections = 0

    def look(self) -> None:
        """Checks all brokers. Raises ViolationError."""
        self.looks += 1
        for broker in self._brokers:
            if broker.is_serving:
                broker.has_lost_data = False
        for key, image in self._partitions():
            for broker in self._brokers:
                if broker.node_id in image.replicas:
                    self._look_at_replica(broker, key)
            for broker in self._brokers:
                self._look_at_leader(broker, key, image)
        self._look_at_acknowledged()

    def _look_at_acknowledged(self) -> None:
        """Checks that newly acknowledged records are in each member of the ISR."""
        acknowledged, self._history.unchecked = self._history.unchecked, []
        for topic, index, offset in acknowledged:
            image = self._controller.image.partition(topic, index)
            assert image is not None
            for broker in (self._brokers[member - 1] for member in image.isr):
                end = self.log(broker, (topic, index)).end
                if end <= offset and not broker.has_lost_data:
                    raise ViolationError(
                        f"(1) {topic}-{index}: {offset} was acknowledged, {broker} in the ISR ends at {end}"
                    )

    def _partitions(self) -> Iterator[tuple[Key, PartitionImage]]:
        image = self._controller.image
        for name in self._topics:
            topic = image.topics_by_name.get(name)
            if topic is not None:
                for index, partition in topic.partitions.items():
                    yield (name, index), partition

    def log(self, broker: BrokerNode, key: Key) -> LogOnDisk:
        """A replica on its disk, also of a broker that is down."""
        log = self.logs.get((broker.name, key))
        if log is None:
            log = self.logs[broker.name, key] = LogOnDisk(broker, key)
        return log

    def _look_at_replica(self, broker: BrokerNode, key: Key) -> None:
        if broker.has_lost_data:
            return
        log = self.log(broker, key)
        log.look()
        for batch in log.batches[log.checked :]:
            known = self._written.setdefault((key, batch.epoch, batch.base), (batch.crc, broker.name))
            if known[0] != batch.crc:
                raise ViolationError(
                    f"(2) {key}: two batches at {batch.base} of epoch {batch.epoch}: {broker}, {known}"
                )
        log.checked = len(log.batches)
        if not broker.is_serving:
            return
        assert broker.server is not None
        for directory in broker.server.running.parts.log_dirs.online:
            own = directory.logs.get(key)
            if own is not None and own.health.is_open and own.offsets.has_high_watermark:
                self._look_below(broker, key, log, own.high_watermark)

    def _look_below(self, broker: BrokerNode, key: Key, log: LogOnDisk, high_watermark: int) -> None:
        committed = self.committed.setdefault(key, {})
        while log.below < len(log.batches) and log.batches[log.below].end <= high_watermark:
            batch = log.batches[log.below]
            known = committed.setdefault(batch.base, batch)
            if (known.crc, known.epoch) != (batch.crc, batch.epoch):
                raise ViolationError(f"(3) {key}: {broker} has {batch} below its high watermark, not {known}")
            log.below += 1
            self._committed_end[key] = max(batch.end, self._committed_end.get(key, 0))

    def _look_at_leader(self, broker: BrokerNode, key: Key, image: PartitionImage) -> None:
        if not broker.is_serving:
            return
        partition = broker.partitions.find(*key)
        if partition is None or partition.leading is None:
            return
        isr = partition.leading.isr
        self._look_at_high_watermark(broker, key, isr)
        if isr.leader_epoch != image.leader_epoch or image.leader != broker.node_id:
            return
        self._look_at_isr(broker, key, isr, image)
        end = self.log(broker, key).end
        if end < self._committed_end.get(key, 0):
            raise ViolationError(
                f"(1) {key}: {broker} leads and ends at {end}, {self._committed_end[key]} is committed"
            )
        if end:
            self._look_at_content(broker, key)

    def _look_at_content(self, broker: BrokerNode, key: Key) -> None:
        """Checks that committed batches are in this leader, once for each batch that is committed or truncated."""
        log = self.log(broker, key)
        for batch in log.batches[log.below :]:
            known = self.committed.get(key, {}).get(batch.base)
            if known is not None and (known.crc, known.epoch) != (batch.crc, batch.epoch):
                raise ViolationError(f"(1) {key}: {broker} leads with {batch}; {known} is committed")

    def _look_at_high_watermark(self, broker: BrokerNode, key: Key, isr: InSyncReplicas) -> None:
        lived = broker.name, broker.incarnation, key, isr.leader_epoch
        before = self._high_watermarks.get(lived)
        if before is None:
            self.elections += 1
        elif isr.high_watermark < before:
            raise ViolationError(
                f"(4) {key}: the high watermark of {broker} falls from {before} to {isr.high_watermark}"
            )
        self._high_watermarks[lived] = isr.high_watermark

    def _look_at_isr(self, broker: BrokerNode, key: Key, isr: InSyncReplicas, image: PartitionImage) -> None:
        if isr.partition_epoch > image.partition_epoch:
            raise ViolationError(f"(6) {key}: {broker} is at partition epoch {isr.partition_epoch}, {image}")
        if isr.partition_epoch == image.partition_epoch and isr.isr != frozenset(image.isr):
            raise ViolationError(f"(6) {key}: {broker} has the ISR {sorted(isr.isr)}, the metadata {image}")
        for member in isr.maximal_isr:
            if self._brokers[member - 1].has_lost_data:
                continue  # it leaves the ISR once it is fenced
            end = self.log(self._brokers[member - 1], key).end
            if end < isr.high_watermark:
                passed = (
                    f"the high watermark of {broker}, {isr.high_watermark}, has passed the end of {member} of its ISR"
                )
                raise ViolationError(f"(5) {key}: {passed}, {end}")

    # The end -----------------------------------------------------------------

    def unhealed(self) -> str | None:
        """(9) A partition without a leader or a full ISR, or with different replicas; None if there is none."""
        for key, image in self._partitions():
            if image.leader < 0 or set(image.isr) != set(image.replicas):
                return f"{key} has leader {image.leader} and ISR {image.isr}"
            logs = [self.log(broker, key) for broker in self._brokers if broker.node_id in image.replicas]
            for log in logs:
                log.look()
            first = [(batch.base, batch.epoch, batch.crc) for batch in logs[0].batches]
            for log in logs[1:]:
                if [(batch.base, batch.epoch, batch.crc) for batch in log.batches] != first:
                    return f"{key}: the replicas differ"
        return None


def data_of(broker: BrokerNode, key: Key) -> bytes | bytearray:
    """The bytes of a replica."""
    return broker.file(f"{key[0]}-{key[1]}", FIRST_SEGMENT)
