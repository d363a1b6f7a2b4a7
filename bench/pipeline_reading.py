"""Reading records with the local engine beside DumpLogSegments; both check the CRC of every batch."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from odradek.pipeline.decode.batch_table import BatchTable
from odradek.pipeline.decode.damage import Damage
from odradek.pipeline.decode.records import check_crcs, decode_chunk
from odradek.pipeline.decode.segment_chunks import read_chunks
from pipeline_comparison import Comparison, Contestant
from pipeline_data import KEY_SIZE, DataSet, Topic
from support.dump_log import KAFKA_TOOL
from support.java import java_arguments

DECODER = "the decoder, one core"
DUMP = "DumpLogSegments, with the start of its JVM (0.3 s)"


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


def dump(topic: Topic) -> None:
    """Kafka's tool over the same files, its text thrown away."""
    files = ",".join(map(str, topic.segments))
    command = [*java_arguments(heap="1g"), KAFKA_TOOL, "--deep-iteration", "--files", files]
    command.remove("-XX:TieredStopAtLevel=1")  # the tests' JVMs start fast; here it may compile as well as it can
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def reading(topic: Topic) -> Comparison:
    """The contestants over one topic."""
    decode(topic, is_compiled=True)  # machine code is there
    codec = "lz4" if topic.name == "lz4" else "not compressed"
    return Comparison(
        f"read {topic.value_size + KEY_SIZE} B records, {codec}",
        topic.bytes,
        topic.records,
        (
            Contestant(DECODER, lambda _: decode(topic, is_compiled=True)),
            Contestant("the same without numba", lambda _: decode(topic, is_compiled=False)),
            Contestant(DUMP, lambda _: dump(topic)),
        ),
        DUMP,
    )


@contextmanager
def comparisons(data: DataSet, scratch: Path) -> Iterator[list[Comparison]]:
    """The decoder beside Kafka's tool."""
    yield [reading(topic) for topic in data.topics.values()]
