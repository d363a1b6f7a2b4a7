"""The audit says first what the next start of Kafka does. test_damage_as_kafka.py asks a real one."""

from pathlib import Path

import pytest

from odradek.pipeline.audit.command import audit
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.report.next_start import next_starts
from odradek.pipeline.engine.engines import LOCAL
from support.pipeline.audited_directory import LOG_START, NOW_MS, RECOVERY, AuditedDirectory

from .damaged_starts import (
    a_directory_without_a_partition,
    a_marker_of_an_unknown_type,
    a_swap_that_ends_early,
    nonsense_in_the_quorum_state,
)


def verdict(directory: AuditedDirectory) -> tuple[bool, str]:
    [found] = next_starts(audit_directories([directory.root], LOCAL, now_ms=NOW_MS))
    assert found.directory == str(directory.root)
    return found.is_refused, found.sentence


def unclean(directory: AuditedDirectory, recovery_point: int) -> None:
    (directory.root / ".kafka_cleanshutdown").unlink()
    directory.checkpoint(RECOVERY, recovery_point)


def flipped(directory: AuditedDirectory, number: int) -> int:
    """Damages a batch of a segment; returns its base offset."""
    position, header = list(directory.places(number))[3]
    data = bytearray(directory.segment(number).read_bytes())
    data[position + header.size_in_bytes - 1] ^= 1
    directory.segment(number).write_bytes(data)
    return header.base_offset


def test_nothing_happens_to_a_directory_without_damage(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path / "logs")
    same = "Kafka starts, and cuts, deletes and rebuilds nothing."
    assert verdict(directory) == (False, f"After this clean stop {same}")
    unclean(directory, 0)
    assert verdict(directory) == (False, f"After this unclean stop {same}")


def test_what_keeps_kafka_from_starting(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path / "logs")
    where = [a_directory_without_a_partition(directory), nonsense_in_the_quorum_state(directory)]
    is_refused, sentence = verdict(directory)
    assert is_refused
    assert sentence.startswith("After this clean stop Kafka does not start. ")
    assert all(str(place.file) in sentence for place in where)


def test_a_control_record_of_an_unknown_type_stops_a_recovery_alone(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path / "logs")
    a_marker_of_an_unknown_type(directory)
    assert not verdict(directory)[0]
    unclean(directory, int(directory.segment(1).stem))
    assert not verdict(directory)[0], "it is before the recovery point"
    directory.checkpoint(RECOVERY, 10)
    assert verdict(directory)[0]


def test_a_recovery_cuts_from_the_segment_of_the_recovery_point_on(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path / "logs")
    later, earlier = flipped(directory, 1), flipped(directory, 0)
    assert "cuts t-0" not in verdict(directory)[1]
    unclean(directory, later + 1)
    end = directory.ends["t", 0]
    assert f"cuts t-0 at offset {later}, which loses the last {end - later} offsets" in verdict(directory)[1]
    directory.checkpoint(RECOVERY, 10)
    assert f"cuts t-0 at offset {earlier}, " in verdict(directory)[1]


def test_what_a_start_deletes_replaces_and_rebuilds(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path / "logs")
    swap = a_swap_that_ends_early(directory).file.name
    directory.segment(1, ".index").unlink()
    directory.checkpoint(LOG_START, directory.ends["t", 0] + 1)
    assert verdict(directory) == (
        False,
        "After this clean stop Kafka starts, and "
        f"deletes all segments of t-0; puts {swap} in the place of segments of t-0, which loses records; "
        "rebuilds the indexes of 1 segment.",
    )


def test_it_stands_at_the_top_and_notes_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = AuditedDirectory(tmp_path / "logs")
    a_directory_without_a_partition(directory)
    (directory.partition / f"{0:020d}.log.deleted").write_bytes(b"")
    assert audit([str(directory.root), "--now", str(NOW_MS)]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(f"{directory.root}: After this clean stop Kafka does not start.")
    [notes] = [line for line in lines if "leftover-deleted" in line]
    assert notes == "Notes: 1 codecs-mixed, 1 leftover-deleted"


def test_equal_findings_are_one_with_a_count(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path / "logs", {"cleanup.policy": "compact"})
    result = audit_directories([directory.root], LOCAL, now_ms=NOW_MS)
    report = result.partitions[0]
    for position in range(50):
        report.add("null-key-in-compacted-topic", "/d/0.log", "the batch has records without a key", position=position)
    [found] = [found for found in report.findings if found.name == "null-key-in-compacted-topic"]
    assert (found.position, found.occurrences) == (0, 50)
