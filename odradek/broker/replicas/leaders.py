"""The partitions with several replicas that this broker leads. Source: ReplicaManager.

Owns: the set of these partitions, the periodic check for followers that lag. Never does: deciding which are in sync.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.common.steps import Steps
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig

from ..metadata.image.image import BrokerRegistration, PartitionImage
from ..metrics.replica_state import IsrChanges, LedPartition
from ..timers.slices import Slices
from .isr import InSyncReplicas
from .leading import Leading, LeadingCommon
from .partition import Partition

WAKE_AFTER_S = 0.05
"""Seconds between an election of this broker and the answer to followers' waiting fetches. The followers learn of the
election from the controllers at about the same time as this broker."""
LOOKS_A_STEP = 64
"""The number of partitions checked in one step: each takes 2 us."""


class Leaders:
    """The leaderships of one broker of a cluster."""

    def __init__(
        self,
        node_id: int,
        lag_max_ms: int,
        registration: Callable[[int], BrokerRegistration | None],
        common: LeadingCommon,
        call_later: Callable[[float, Callable[[], None]], object],
        slices: Slices,
    ) -> None:
        """``lag_max_ms``: ``replica.lag.time.max.ms``; ``registration`` returns a broker's registration in the current
        image, if it has one; ``call_later`` is the event loop's method; ``slices`` run work on many partitions."""
        self._node_id = node_id
        self.lag_max_ms = lag_max_ms
        self._registration = registration
        self._common = common
        self._call_later = call_later
        self._slices = slices
        self._will_wake = False
        self._led: dict[Partition, None] = {}
        """The led partitions. :meth:`look_for_lagging` removes those whose leadership has ended."""

    @property
    def isr_changes(self) -> IsrChanges:
        """The counts of ISR changes of these partitions."""
        return self._common.isr_changes

    def lead(self, partition: Partition, image: PartitionImage, config: LogConfig, high_watermark: int) -> None:
        """Leads a partition with several replicas in the state that the metadata has.

        ``high_watermark`` is used if the log does not have one yet. Raises KafkaError if the log can't be opened.
        """
        log = partition.log
        leading = partition.leading
        if leading is None:
            if not log.offsets.has_high_watermark:
                log.offsets.set_high_watermark(high_watermark)
            isr = InSyncReplicas(self._node_id, self.lag_max_ms, self._registration)
            leading = Leading(
                partition.topic, partition.topic_id, partition.index, log, isr, partition.notify, self._common
            )
            partition.leading = leading
            self._led[partition] = None
            if not self._will_wake:
                self._will_wake = True
                self._call_later(WAKE_AFTER_S, self._wake_followers)
        leading.lead(image, config.min_insync_replicas)

    def _wake_followers(self) -> None:
        """Answers the waiting fetches of followers, so that their next fetches include the partitions that this broker
        has begun to lead.

        Otherwise a write with acks=all would wait until such a fetch times out (``replica.fetch.wait.max.ms``), as in
        Kafka.
        """
        self._will_wake = False
        self._slices.start_background(self._wake_steps(), "the answering of followers after an election")

    def _wake_steps(self) -> Steps[None]:
        for count, partition in enumerate(list(self._led), 1):
            if partition.leading is not None:
                partition.leading.wake_followers()
            if not count % LOOKS_A_STEP:
                yield

    def look_for_lagging(self) -> Steps[None]:
        """Proposes to remove followers that lag from the ISR (``ReplicaManager.maybeShrinkIsr``)."""
        for count, partition in enumerate(list(self._led), 1):
            if partition.leading is None:
                self._led.pop(partition, None)
            else:
                partition.leading.time_passed()
            if not count % LOOKS_A_STEP:
                yield

    def led(self) -> Iterator[LedPartition]:
        """The partitions that this broker leads over followers, for the metrics."""
        for partition in list(self._led):
            leading = partition.leading
            if leading is not None:
                isr = leading.isr
                yield LedPartition(
                    partition.topic,
                    partition.index,
                    len(isr.followers) + 1,
                    len(isr.isr),
                    isr.effective_min_isr,
                    leading.is_reassigning,
                )

    @staticmethod
    def lead_alone(partition: Partition, image: PartitionImage, log: Log | None) -> None:
        """Leads a partition with no other replica: answers the requests that wait for followers, and lets consumers
        read to the end of the log.

        ``log``: None if it is not open. If this broker was a follower until now, its log still has the high watermark
        that its former leader sent.
        """
        if partition.leading is not None:
            partition.leading.lead(image, 1)
            partition.resign()
        if log is not None and log.offsets.has_high_watermark:
            log.offsets.follow_end()
