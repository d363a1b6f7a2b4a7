"""Every job over a directory of Kafka 2.8.2 with message formats 0, 1 and 2: the records that were sent, no finding."""

import shutil
from pathlib import Path

import pytest

from odradek.pipeline.audit.check import Severity
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.directories.log_directories import find_partitions
from odradek.pipeline.engine.engines import LOCAL
from odradek.pipeline.reading.log_end import LogEnd
from odradek.pipeline.reading.timestamps import offset_for_timestamp
from odradek.protocol.records.batch import iterate_headers
from support.data.old_formats import TOPICS, stored, unpack

from .kafkalog_reading import read_rows


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("kafka"))


EXPECTED = {topic: [(record.offset, record.key, record.value) for record in stored(topic)] for topic in TOPICS}


def by_topic(rows: list[dict[str, object]]) -> dict[str, list[tuple[object, object, object]]]:
    found: dict[str, list[tuple[object, object, object]]] = {topic: [] for topic in TOPICS}
    for row in rows:
        found[str(row["topic"])].append((row["offset"], row["key"], row["value"]))
    return found


@pytest.mark.parametrize("split_bytes", [1 << 30, 1, 700])
def test_the_data_source_reads_each_record_once(written: Path, split_bytes: int) -> None:
    """Splits begin at entries of the index, also at wrappers, whose first offset is not in their header."""
    rows = read_rows(written, "topic", "offset", "key", "value", maxPartitionBytes=split_bytes)
    assert by_topic(rows) == EXPECTED


def test_a_part_of_the_offsets(written: Path) -> None:
    for first, end in ((3, 60), (50, 51), (100, 120)):
        options = {"startingOffsets": offsets(first), "endingOffsets": offsets(end), "maxPartitionBytes": 300}
        rows = read_rows(written, "topic", "offset", "key", "value", **options)
        assert by_topic(rows) == {topic: records[first:end] for topic, records in EXPECTED.items()}


def offsets(offset: int) -> str:
    return "{" + ", ".join(f'"{topic}": {{"0": {offset}}}' for topic in TOPICS) + "}"


@pytest.mark.parametrize("is_committed_only", [False, True])
def test_the_end_of_a_log_is_followed(written: Path, is_committed_only: bool) -> None:
    for found in find_partitions(written):
        end = LogEnd(is_committed_only=is_committed_only)
        end.follow(found)
        assert end.readable_offset == len(EXPECTED[found.topic]), found.topic


def test_records_by_time(written: Path) -> None:
    for found in find_partitions(written):
        records = [record for record in stored(found.topic) if record.timestamp > 0]
        for record in records[:: 1 + len(records) // 10]:
            expected = next(one.offset for one in records if one.timestamp >= record.timestamp)
            assert offset_for_timestamp(found, record.timestamp) == expected


@pytest.mark.parametrize("is_clean", [True, False])
def test_an_audit_finds_nothing_wrong(written: Path, tmp_path: Path, is_clean: bool) -> None:
    root = Path(shutil.copytree(written, tmp_path / "logs"))
    if not is_clean:
        (root / ".kafka_cleanshutdown").unlink(missing_ok=True)
    result = audit_directories([root], LOCAL)
    assert [found for found in result.findings if found.check.severity is not Severity.INFO] == []
    counts = {report.topic: (report.records, report.log_end_offset) for report in result.partitions}
    assert counts == {topic: (len(records), len(records)) for topic, records in EXPECTED.items()}
    assert sum(report.size for report in result.partitions) == sum(path.stat().st_size for path in root.glob("*/*.log"))


@pytest.mark.parametrize("topic", TOPICS)
def test_a_changed_byte_is_found_where_it_is(written: Path, tmp_path: Path, topic: str) -> None:
    root = Path(shutil.copytree(written / f"{topic}-0", tmp_path / "logs" / f"{topic}-0"))
    path = min(root.glob("*.log"))
    data = bytearray(path.read_bytes())
    places = list(iterate_headers(data))
    position, header = places[len(places) // 2]
    data[position + header.size_in_bytes - 1] ^= 1
    path.write_bytes(data)
    result = audit_directories([root.parent], LOCAL)
    wrong = [found for found in result.findings if found.check.severity is Severity.ERROR]
    assert [(found.name, found.position) for found in wrong] == [("batch-crc-mismatch", position)]
    rows = by_topic(read_rows(root.parent, "topic", "offset", "key", "value", mode="DROPMALFORMED"))[topic]
    kept = [(offset, key, value) for offset, key, value in EXPECTED[topic] if (offset, key, value) in rows]
    assert kept == rows
    assert 0 < len(EXPECTED[topic]) - len(rows) <= 7
