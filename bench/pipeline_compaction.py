"""Compaction of a partition beside Kafka's own Cleaner class, on copies of the same bytes.

Measured is the processor time of the thread that cleans, on both sides: what one core takes, whatever else the machine
does. Kafka's JVM compiles on other threads, which don't count, and goes on between the rounds: the best round is one of
compiled code. Everything may be cleaned, and a quarter of the records stays. No I/O is waited for: the files are in the
page cache.
"""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from odradek.pipeline.compact.compiled_steps import CompiledSteps
from odradek.storage.compaction.cleaning import PartitionCleaner
from odradek.storage.compaction.grouping import CleanableRange
from odradek.storage.compaction.partition_facts import read_partition
from odradek.storage.compaction.plain_steps import PlainSteps
from odradek.storage.compaction.record_steps import RecordSteps
from odradek.storage.files.descriptors import DescriptorCache
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from pipeline_comparison import Comparison, Contestant
from pipeline_data import KEY_SIZE, START_MS, DataSet, Topic
from support.disks.unsynced_files import UnsyncedFiles
from support.pipeline.compaction_rounds import CleanerOracle, RoundOrder

KAFKA = "Kafka's Cleaner, warm"
CONFIG = LogConfig(cleanup_policy=frozenset({"compact"}))
NOW_MS = START_MS + 100 * 86_400_000
MAX_KEYS = 5_033_164
"""What Kafka's map of 128 MiB holds."""
PARTITION = "t-0"


class WarmCleaner(CleanerOracle):
    """Kafka's cleaner in a JVM that compiles as well as it can."""

    def command(self) -> list[str]:
        """With a heap for the map."""
        return [word.replace("-Xmx512m", "-Xmx2g") for word in super().command() if word != "-XX:TieredStopAtLevel=1"]

    def seconds(self, place: Path) -> float:
        """Processor time of one round."""
        answer = self.order(self._words(place / PARTITION, CONFIG, RoundOrder(NOW_MS, 0, MAX_KEYS)))
        assert "error" not in answer, answer
        return float(answer["cpuSeconds"])


def prepare(topic: Topic, place: Path) -> None:
    """A copy whose records all lie in front of the active segment."""
    shutil.copytree(topic.directory / f"{topic.name}-0", place / PARTITION)
    log = Log.open(place / PARTITION, CONFIG, now_ms=START_MS, descriptors=DescriptorCache(UnsyncedFiles()))
    log.roll(START_MS)
    log.close()


def compact(steps: RecordSteps, place: Path) -> float:
    """Processor time of one round. The directory is read before, as Kafka reads it when it loads the log."""
    files = UnsyncedFiles()
    facts = read_partition(files, place / PARTITION, now_ms=NOW_MS, producer_id_expiration_ms=86_400_000)
    begin = time.process_time()
    cleaner = PartitionCleaner(files, place / PARTITION, CONFIG, NOW_MS, steps=steps)
    result = cleaner.clean(facts, CleanableRange(0, facts.log_end_offset))
    assert result.records_kept < result.records_read
    return time.process_time() - begin


def comparison(topic: Topic, kafka: WarmCleaner) -> Comparison:
    """The contestants over one topic."""
    contestants = (
        Contestant("compiled steps", partial(compact, CompiledSteps()), partial(prepare, topic)),
        Contestant("plain steps (core install)", partial(compact, PlainSteps()), partial(prepare, topic)),
        Contestant(KAFKA, kafka.seconds, partial(prepare, topic)),
    )
    codec = "lz4" if topic.name == "lz4" else "not compressed"
    name = f"compact {topic.value_size + KEY_SIZE} B records, {codec} (CPU s)"
    return Comparison(name, topic.bytes, topic.records, contestants, KAFKA)


@contextmanager
def comparisons(data: DataSet, scratch: Path) -> Iterator[list[Comparison]]:
    """Both implementations beside Kafka's cleaner."""
    with WarmCleaner() as kafka:
        yield [comparison(topic, kafka) for topic in data.topics.values()]
