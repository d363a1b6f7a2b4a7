"""Reading records beside DumpLogSegments, and exporting them; all check the CRC of every batch.

The decoder is measured inside this process, DumpLogSegments and `odradek export` as processes from their start on.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from odradek.pipeline.decode.batch_table import BatchTable, check_crcs
from odradek.pipeline.decode.damage import Damage
from odradek.pipeline.decode.records import decode_chunk
from odradek.pipeline.decode.segment_chunks import read_chunks
from pipeline_comparison import Comparison, Contestant
from pipeline_data import KEY_SIZE, DataSet, Topic
from support.data.dump_log import KAFKA_TOOL
from support.kafka.java import java_arguments

DECODER = "the decoder, one core"
DUMP = "DumpLogSegments --deep-iteration, whole process"
PRINT = "DumpLogSegments --print-data-log, whole process"


def decode(topic: Topic, *, is_compiled: bool) -> float:
    """Seconds for all columns of the topic as Arrow, chunk by chunk."""
    begin = time.perf_counter()
    records = 0
    for segment in topic.segments:
        for chunk in read_chunks(segment):
            assert isinstance(chunk, BatchTable)
            matches, damage = check_crcs(chunk)
            assert not damage
            for item in decode_chunk(chunk, matches, is_compiled=is_compiled):
                assert not isinstance(item, Damage)
                records += len(item.batches)
    assert records >= topic.records
    return time.perf_counter() - begin


def dump(topic: Topic, *options: str) -> None:
    """Kafka's tool over the same files, its text thrown away."""
    files = ",".join(map(str, topic.segments))
    command = [*java_arguments(heap="1g"), KAFKA_TOOL, "--deep-iteration", *options, "--files", files]
    command.remove("-XX:TieredStopAtLevel=1")  # the tests' JVMs start fast; here it may compile as well as it can
    # On standard error it says that offsets of several files don't follow each other.
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def codec_of(topic: Topic) -> str:
    """How the table names the topic's compression."""
    return "lz4" if topic.name == "lz4" else "not compressed"


def reading(topic: Topic) -> Comparison:
    """The contestants over one topic."""
    decode(topic, is_compiled=True)  # machine code is there
    return Comparison(
        f"read {topic.value_size + KEY_SIZE} B records, {codec_of(topic)}",
        topic.bytes,
        topic.records,
        (
            Contestant(DECODER, lambda _: decode(topic, is_compiled=True)),
            Contestant("the same without numba", lambda _: decode(topic, is_compiled=False)),
            Contestant(DUMP, lambda _: dump(topic)),
        ),
        DUMP,
    )


def export(topic: Topic, output: Path) -> None:
    """The command, with a pool of processes for the segments."""
    command = [sys.executable, "-m", "odradek", "export", str(topic.directory), "--output", str(output / "out")]
    subprocess.run([*command, "--engine", "local"], check=True, stdout=subprocess.DEVNULL)


def exporting(topic: Topic) -> Comparison:
    """All columns of a topic into files: Parquet on one side, text that is thrown away on the other."""
    return Comparison(
        f"export {topic.value_size + KEY_SIZE} B records to Parquet, {codec_of(topic)}",
        topic.bytes,
        topic.records,
        (
            Contestant("odradek export, whole process", lambda scratch: export(topic, scratch)),
            Contestant(PRINT, lambda _: dump(topic, "--print-data-log")),
        ),
        PRINT,
    )


@contextmanager
def comparisons(data: DataSet, scratch: Path) -> Iterator[list[Comparison]]:
    """The decoder beside Kafka's tool."""
    yield [*map(reading, data.topics.values()), exporting(data.topics["none"]), exporting(data.topics["lz4"])]
