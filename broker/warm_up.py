"""Imports what a start leaves out, a second after it, and keeps the code of the cleaner's worker.

Owns: the list of modules that requests and background work import on first use. Never does: importing what only other
configurations or commands need. A request must not depend on the disk: its first import would fail if no descriptor is
left, and mix two versions after ``pip install -U`` beside the running broker. One module is imported in a turn of the
event loop. All together they take 0.25 s of processor time and 12 MB. A thread was no better: others wait for the
interpreter's lock.
"""

import logging
from collections.abc import Callable, Iterator
from importlib import import_module

from .dispatch.served import SERVED
from .timers.timer_queue import TimerHandle
from .worker_code import WorkerCode

logger = logging.getLogger(__name__)

PAUSE_MS = 15
"""The time for requests between two modules."""

BEFORE = (
    "decimal",
    "odradek.protocol.messages.metadata",
    "odradek.protocol.messages.groups",
    "odradek.protocol.messages.consumer_groups",
    "odradek.protocol.messages.transactions",
    "odradek.protocol.messages.log_dirs",
    "odradek.protocol.messages.security",
    "odradek.protocol.messages.offsets",
    "odradek.protocol.messages.quotas",
    "odradek.protocol.messages.quorum",
    "odradek.protocol.messages.fetch",
    "odradek.protocol.messages.produce",
    "odradek.protocol.codec_steps",
    "odradek.protocol.codec_count",
    "odradek.broker.groups.heartbeat",
    "odradek.broker.groups.join",
    "odradek.broker.groups.leave",
    "odradek.broker.groups.sync",
    "odradek.broker.offsets.commit",
    "odradek.broker.offsets.fetch",
    "xxhash",
    "odradek.broker.consumer_groups.assignors.hash_order",
    "odradek.broker.consumer_groups.member",
    "odradek.broker.consumer_groups.group",
    "odradek.broker.consumer_groups.reconciliation",
    "odradek.broker.consumer_groups.records",
    "odradek.broker.consumer_groups.membership",
    "odradek.broker.consumer_groups.consumer_protocol",
    "odradek.broker.consumer_groups.migration",
    "odradek.broker.consumer_groups.fencing",
    "odradek.broker.consumer_groups.describe",
    "odradek.broker.consumer_groups.subscription",
    "odradek.broker.consumer_groups.target_assignment",
    "odradek.broker.consumer_groups.heartbeat",
)
"""Modules that the others import, each after those that it needs itself: so no turn of the event loop takes long."""
AFTER = (
    "odradek.broker.dispatch.disabled_feature",
    "odradek.broker.dispatch.error_responses",
    "odradek.protocol.error_messages",
    "odradek.broker.consumer_groups.classic_members",
    "odradek.broker.consumer_groups.replay",
    "odradek.broker.consumer_groups.life",
    "odradek.broker.consumer_groups.offset_validation",
    "odradek.broker.consumer_groups.assignors.range",
    "odradek.broker.consumer_groups.assignors.uniform_heterogeneous",
    "odradek.broker.consumer_groups.assignors.uniform_homogeneous",
    "odradek.broker.consumer_groups.assignors.uniform",
    "re2",
    "odradek.broker.consumer_groups.regular_expressions",
    "odradek.broker.coordinator.rebalance_watch",
    "cramjam",
    "odradek.protocol.records.gzip_codec",
    "odradek.protocol.records.snappy_codec",
    "odradek.protocol.records.lz4_codec",
    "odradek.protocol.records.zstd_codec",
    "odradek.protocol.records.down_conversion",
    "odradek.broker.fetch.conversion",
    "odradek.storage.read_check",
    "odradek.storage.compaction.cleaned_indexes",
    "odradek.storage.compaction.batch_chunk",
    "odradek.storage.compaction.grouping",
    "odradek.storage.compaction.record_steps",
    "odradek.storage.compaction.transactions",
    "odradek.storage.compaction.retention",
    "odradek.storage.compaction.latest_records",
    "odradek.storage.compaction.segment_writer",
    "odradek.storage.compaction.cleaning",
    "odradek.storage.compaction.order",
    "odradek.storage.compaction.live_round",
    "odradek.storage.compaction.worker",
    "odradek.broker.cleaner",
    "difflib",
    "ipaddress",
    "pdb",
    "construct",
    "odradek.protocol.reference.primitives",
    "odradek.protocol.reference.schema",
    "odradek.protocol.reference.dissect",
)
"""Error paths, codecs, groups of the consumer protocol, the cleaner."""

Schedule = Callable[[int, Callable[[], None]], TimerHandle]


def modules() -> list[str]:
    """The modules in the order in which they are imported."""
    apis = sorted({f"odradek.broker.api.{name}" for name in SERVED.values()})
    return [*BEFORE, *apis, *AFTER]


class WarmUp:
    """Imports everything, then reads the worker's code."""

    def __init__(self, schedule: Schedule, worker_code: WorkerCode, finished: Callable[[], None]) -> None:
        """``schedule`` calls back after some ms; ``finished`` is called once, at the end."""
        self._schedule = schedule
        self._worker_code = worker_code
        self._finished = finished
        self._left = self._steps()

    def step(self) -> None:
        """Imports one module, and the next one after a pause."""
        if next(self._left, None) is None:
            self._finished()
        else:
            self._schedule(PAUSE_MS, self.step)

    def _steps(self) -> Iterator[bool]:
        for name in modules():
            try:
                import_module(name)
            except (ImportError, OSError) as error:
                logger.warning("%s can't be imported, requests that need it will fail: %s", name, error)
            yield True
        for _ in self._worker_code.read():
            yield True


def log_the_end() -> None:
    """What a running broker does at the end of the warm-up."""
    logger.debug("all modules are imported")
