"""The audit beside DumpLogSegments, and beside reading and checksumming the same bytes: nobody is faster than that."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crc32c import crc32c

from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.tasks import BATCHES
from odradek.pipeline.engine.engines import LOCAL
from pipeline_comparison import Comparison, Contestant
from pipeline_data import DataSet, Topic
from support.data.dump_log import KAFKA_TOOL
from support.kafka.java import java_arguments

READ = "reading and checksumming the file"
DUMP = "DumpLogSegments, batches only, with the start of its JVM (0.3 s)"
COMMAND = "odradek audit"
NOW = "1795000000000"
CHUNK = 4 << 20


def read(topic: Topic) -> None:
    """Every byte of the log once, through one CRC-32C."""
    for segment in topic.segments:
        checksum = 0
        with segment.open("rb", buffering=0) as file:
            while data := file.read(CHUNK):
                checksum = crc32c(data, checksum)


def dump(topic: Topic) -> None:
    """Kafka's tool over the same files, its text thrown away."""
    command = [*java_arguments(heap="1g"), KAFKA_TOOL, "--files", ",".join(map(str, topic.segments))]
    command.remove("-XX:TieredStopAtLevel=1")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def command(topic: Topic, level: str) -> None:
    """The command as a user types it: a cold process."""
    words = [sys.executable, "-m", "odradek", "audit", str(topic.directory), "--level", level, "--now", NOW]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def inside(topic: Topic) -> float:
    """The same in this process, imports and machine code being there."""
    begin = time.perf_counter()
    result = audit_directories([topic.directory], LOCAL, now_ms=int(NOW), level=BATCHES)
    assert result.partitions[0].records >= topic.records
    return time.perf_counter() - begin


def auditing(topic: Topic) -> Comparison:
    """The contestants over one topic."""
    codec = "lz4" if topic.name == "lz4" else "not compressed"
    return Comparison(
        f"audit {topic.bytes / 1e6:.0f} MB, {topic.value_size + 12} B records, {codec}",
        topic.bytes,
        topic.records,
        (
            Contestant(f"{COMMAND} --level batches, cold", lambda _: command(topic, "batches")),
            Contestant("the same in a running process", lambda _: inside(topic)),
            Contestant(f"{COMMAND}, all records, cold", lambda _: command(topic, "records")),
            Contestant(READ, lambda _: read(topic)),
            Contestant(DUMP, lambda _: dump(topic)),
        ),
        DUMP,
    )


@contextmanager
def comparisons(data: DataSet, scratch: Path) -> Iterator[list[Comparison]]:
    """The audit beside Kafka's tool."""
    inside(next(iter(data.topics.values())))  # machine code is there
    yield [auditing(topic) for topic in data.topics.values()]
