"""Imports the modules that a start leaves out, a second after it, and copies the code of the cleaner's worker.

Owns: the list of modules that requests and background work import on first use. Never does: importing modules that only
other configurations or commands need. A request must not depend on the disk: its first import would fail if no
descriptor is left, and mix two versions after ``pip install -U`` beside the running broker. If no descriptor is left
for the warm-up either, it waits until there is one. One module is imported in a turn of the event loop. All together
they take 0.25 s of processor time and 12 MB. A thread was not better: it holds the interpreter's lock while it imports.
"""

import logging
import os
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module

from odradek.storage.files.disk_errors import NO_DESCRIPTOR, lacks_descriptors

from ..dispatch.served import SERVED
from ..replicas.cleaner.worker_code import WorkerCode
from ..timers.timers import Timer

logger = logging.getLogger(__name__)

PAUSE_MS = 15
"""The time for requests between two modules."""
RETRY_MS = 1_000
"""The time until the next try if the process had no descriptor for a module."""

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
    "odradek.protocol.codec.steps",
    "odradek.protocol.codec.count",
    "odradek.broker.groups.classic.heartbeat",
    "odradek.broker.groups.classic.join",
    "odradek.broker.groups.classic.leave",
    "odradek.broker.groups.classic.sync",
    "odradek.broker.groups.offsets.commit",
    "odradek.broker.groups.offsets.fetch",
    "xxhash",
    "odradek.broker.groups.consumer.assignors.hash_order",
    "odradek.broker.groups.consumer.member",
    "odradek.broker.groups.consumer.group",
    "odradek.broker.groups.consumer.reconciliation",
    "odradek.broker.groups.consumer.records",
    "odradek.broker.groups.consumer.membership",
    "odradek.broker.groups.consumer.consumer_protocol",
    "odradek.broker.groups.consumer.migration",
    "odradek.broker.groups.consumer.fencing",
    "odradek.broker.groups.consumer.describe",
    "odradek.broker.groups.consumer.subscription",
    "odradek.broker.groups.consumer.target_assignment",
    "odradek.broker.groups.consumer.heartbeat",
)
"""Modules that the others import, each after its own dependencies, so that no turn of the event loop takes long."""
AFTER = (
    "odradek.broker.dispatch.disabled_feature",
    "odradek.broker.dispatch.error_responses",
    "odradek.broker.server.quota_enforcement",
    "odradek.broker.quotas.creation_rates",
    "odradek.broker.fetch.charged",
    "odradek.protocol.error_messages",
    "odradek.broker.groups.consumer.classic_members",
    "odradek.broker.groups.consumer.replay",
    "odradek.broker.groups.consumer.lifecycle",
    "odradek.broker.groups.consumer.offset_validation",
    "odradek.broker.groups.consumer.assignors.range",
    "odradek.broker.groups.consumer.assignors.uniform_heterogeneous",
    "odradek.broker.groups.consumer.assignors.uniform_homogeneous",
    "odradek.broker.groups.consumer.assignors.uniform",
    "re2",
    "odradek.broker.groups.consumer.regular_expressions",
    "odradek.broker.groups.rebalance_watch",
    "cramjam",
    "odradek.protocol.records.gzip_codec",
    "odradek.protocol.records.snappy_codec",
    "odradek.protocol.records.lz4_codec",
    "odradek.protocol.records.zstd_codec",
    "odradek.protocol.records.down_conversion",
    "odradek.broker.fetch.conversion",
    "odradek.storage.log.read_check",
    "odradek.storage.compaction.cleaned_indexes",
    "odradek.storage.compaction.batch_chunk",
    "odradek.storage.compaction.grouping",
    "odradek.storage.compaction.record_steps",
    "odradek.storage.compaction.batch_records",
    "odradek.storage.compaction.plain_steps",
    "odradek.storage.compaction.transactions",
    "odradek.storage.compaction.retention",
    "odradek.storage.compaction.latest_records",
    "odradek.storage.compaction.segment_writer",
    "odradek.storage.compaction.cleaning",
    "odradek.storage.compaction.order",
    "odradek.storage.compaction.live_round",
    "odradek.storage.compaction.worker",
    "odradek.broker.replicas.cleaner.cleaner",
    "difflib",
    "ipaddress",
    "pdb",
    "construct",
    "odradek.protocol.reference.primitives",
    "odradek.protocol.reference.schema",
    "odradek.protocol.reference.dissect",
)
"""Error paths, codecs, groups of the consumer protocol, the cleaner."""

Schedule = Callable[[int, Callable[[], None]], Timer]


def modules() -> list[str]:
    """The modules in the order in which they are imported."""
    apis = sorted({f"odradek.broker.api.{name}" for name in SERVED.values()})
    return [*BEFORE, *apis, *AFTER]


class WarmUp:
    """Imports the modules, then copies the worker's code."""

    def __init__(self, schedule: Schedule, worker_code: WorkerCode, finished: Callable[[], None]) -> None:
        """``schedule`` calls back after some ms; ``finished`` is called once, at the end."""
        self._schedule = schedule
        self._worker_code = worker_code
        self._finished = finished
        self._left = self._steps()
        self._next: Callable[[], object] | None = next(self._left)

    def step(self) -> None:
        """Imports one module, and the next one after a pause."""
        if self._next is None:
            self._finished()
            return
        try:
            self._next()
        except (ImportError, OSError) as error:
            if _lacks_descriptors(error):
                logger.info("importing modules later, because no file descriptor is left: %s", error)
                self._schedule(RETRY_MS, self.step)
                return
            logger.warning("could not import a module; requests that need it will fail: %s", error)
        self._next = next(self._left, None)
        self._schedule(PAUSE_MS, self.step)

    def _steps(self) -> Iterator[Callable[[], object]]:
        for name in modules():
            yield partial(import_module, name)
        yield from self._worker_code.read()


def _lacks_descriptors(error: ImportError | OSError) -> bool:
    """Whether a module was not found because no descriptor was left. (Errors of the library loader have no errno.)"""
    return lacks_descriptors(error) or any(os.strerror(code) in str(error) for code in NO_DESCRIPTOR)


def log_imported() -> None:
    """Logs the end of the warm-up."""
    logger.debug("all modules are imported")
