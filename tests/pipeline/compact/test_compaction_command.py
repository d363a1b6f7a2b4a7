"""`odradek compact` as a user runs it: the compacted topics, refusals, and unchanged files."""

import fcntl
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from odradek.pipeline.compact.command import compact, in_words
from odradek.pipeline.compact.job import compact_directory, why_out_of_reach
from odradek.pipeline.compact.plan import CompactionOrder, CompactionProgress
from odradek.pipeline.engine.engines import LOCAL, POOL
from odradek.protocol.codec import encode
from odradek.protocol.messages.metadata_records import ConfigRecord, PartitionRecord, TopicRecord
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.files.checkpoints import read_offset_checkpoint, write_offset_checkpoint
from odradek.storage.files.files import Files
from support.data.log_directories import segment_bytes
from support.pipeline.compaction_log import HOUR_MS, START_MS, CompactionLog, read_batches

NOW = ["--now", str(START_MS + 2 * HOUR_MS)]
TOPIC, BROKER = 2, 4
Config = tuple[int, str, str, str]


def metadata_log(root: Path, topics: tuple[str, ...], configs: tuple[Config, ...]) -> None:
    """The metadata log of broker 7, which has partition 0 of the topics."""
    messages: list[TopicRecord | PartitionRecord | ConfigRecord] = []
    for number, topic in enumerate(topics, start=1):
        topic_id = bytes([number]) * 16
        messages += [TopicRecord(topic, topic_id), PartitionRecord(0, topic_id, replicas=[7], isr=[7], leader=7)]
    messages += [ConfigRecord(kind, name, key, value) for kind, name, key, value in configs]
    records = [
        Record(offset, 1, None, bytes([1, message.API_KEY, 0]) + encode(message, 0), [])
        for offset, message in enumerate(messages)
    ]
    directory = root / "__cluster_metadata-0"
    directory.mkdir(parents=True)
    (directory / f"{0:020d}.log").write_bytes(encode_batch(records, partition_leader_epoch=1))
    (root / "meta.properties").write_text(f"version=1\nnode.id=7\ncluster.id={'A' * 22}\n")


def partition(root: Path, name: str, *, keys: int = 5) -> None:
    """A partition with each key twice in a sealed segment."""
    log = CompactionLog(root / name)
    for key in (*range(keys), *range(keys)):
        log.send(key)
    log.roll()
    log.send(0)
    log.close()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Two compacted topics, one that is not, one that is only by the broker's default, and leftover files of others."""
    root = tmp_path / "logs"
    topics = ("both", "latest", "plain", "remote")
    metadata_log(
        root,
        topics,
        (
            (TOPIC, "both", "cleanup.policy", "compact,delete"),
            (TOPIC, "latest", "cleanup.policy", "compact"),
            (TOPIC, "remote", "cleanup.policy", "compact"),
            (TOPIC, "remote", "remote.storage.enable", "true"),
        ),
    )
    for topic in topics:
        partition(root, f"{topic}-0")
    for leftover in ("latest-0.8a6cbc0dd1c7482cbbf2eab5ba2fdad3-delete", "latest-1.8a6c-future", "latest-2.8a6c-stray"):
        shutil.copytree(root / "latest-0", root / leftover)
    write_offset_checkpoint(Files(), root / "replication-offset-checkpoint", {(topic, 0): 11 for topic in topics})
    return root


def offsets(directory: Path, name: str) -> list[int]:
    return read_batches(directory / name).offsets


WHOLE, CLEANED = [*range(11)], [5, 6, 7, 8, 9, 10]


def test_without_a_topic_all_that_are_compacted_are(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compact([str(directory), *NOW]) == 1
    out, error = capsys.readouterr()
    assert offsets(directory, "both-0") == offsets(directory, "latest-0") == CLEANED
    assert offsets(directory, "plain-0") == offsets(directory, "remote-0") == WHOLE
    assert "remote-0: a topic with remote.storage.enable can't be compacted" in error
    assert "both-0" in out
    assert "3 partitions" in out
    assert "plain" not in out
    for leftover in directory.glob("latest-*-*"):
        assert read_batches(leftover).offsets == WHOLE
    checkpoint = read_offset_checkpoint(Files(), directory / "cleaner-offset-checkpoint")
    assert checkpoint == {("both", 0): 10, ("latest", 0): 10}


def test_several_topics_and_one_partition(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    partition(directory, "latest-1")
    write_offset_checkpoint(
        Files(), directory / "replication-offset-checkpoint", {("latest", 0): 11, ("latest", 1): 11, ("both", 0): 11}
    )
    words = [
        "--topic",
        "latest",
        "--topic",
        "both",
        "--partition",
        "0",
        "--json",
        "--throttle",
        "100m",
        "--memory",
        "1k",
    ]
    assert compact([str(directory), *words, *NOW]) == 0
    done = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sorted((one["topic"], one["partition"]) for one in done) == [("both", 0), ("latest", 0)]
    assert all(one["bytes_after"] < one["bytes_before"] for one in done)
    assert offsets(directory, "latest-1") == WHOLE


def test_defaults_of_all_brokers_and_of_this_one_count(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    metadata_log(
        root,
        ("t",),
        (
            (BROKER, "", "log.cleanup.policy", "compact"),
            (BROKER, "7", "log.cleaner.min.compaction.lag.ms", str(10 * HOUR_MS)),
            (BROKER, "8", "log.cleanup.policy", "delete"),
        ),
    )
    partition(root, "t-0")
    assert compact([str(root), *NOW]) == 0
    assert offsets(root, "t-0") == WHOLE, "younger than broker 7's lag"
    assert compact([str(root), "--now", str(START_MS + 11 * HOUR_MS)]) == 0
    assert offsets(root, "t-0") == CLEANED


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--topic", "__cluster_metadata"], "cannot be compacted"),
        (["--topic", "nothing"], "has no partition of topic 'nothing'"),
        (["--topic", "remote"], "remote.storage.enable"),
        (["--topic", "plain"], "--config cleanup.policy=compact"),
        (["--partition", "9"], "no such partition"),
        (["--config", "segment.bytes=many"], "'many' is not a valid value for segment.bytes"),
    ],
)
def test_what_is_refused_with_nothing_begun(
    directory: Path, capsys: pytest.CaptureFixture[str], words: list[str], reason: str
) -> None:
    before = segment_bytes(directory)
    code = compact([str(directory), *words, *NOW])
    assert reason in capsys.readouterr().err
    assert code == (1 if "--config" in words else 3)
    assert segment_bytes(directory) == before


def test_a_partitions_own_directory_is_refused(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compact([str(directory / "latest-0"), *NOW]) == 3
    assert "give the log directory that contains it" in capsys.readouterr().err


def test_without_metadata_topics_must_be_named(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(directory / "__cluster_metadata-0")
    assert compact([str(directory), *NOW]) == 3
    assert "--topic" in capsys.readouterr().err
    assert compact([str(directory), "--topic", "plain", "--config", "cleanup.policy=compact", *NOW]) == 0
    assert offsets(directory, "plain-0") == CLEANED


def test_a_partition_that_cannot_be_cleaned_is_named_and_the_others_are_done(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "both-0" / f"{0:020d}.txnindex").mkdir()  # as on a failing disk, the system refuses to read it
    assert compact([str(directory), "--topic", "both", "--topic", "latest", *NOW]) == 1
    assert "both-0: " in capsys.readouterr().err
    assert offsets(directory, "latest-0") == CLEANED
    assert read_offset_checkpoint(Files(), directory / "cleaner-offset-checkpoint") == {("latest", 0): 10}


def test_owner_mode_and_time_of_the_files_stay(directory: Path) -> None:
    log = directory / "latest-0" / f"{0:020d}.log"
    log.chmod(0o640)
    os.utime(log, ns=(1_700_000_000_000_000_000, 1_700_000_000_000_000_000))
    if os.geteuid() == 0:
        os.chown(log, 1234, 4321)
    before = log.stat()
    assert compact([str(directory), "--topic", "latest", *NOW]) == 0
    for suffix in (".log", ".index", ".timeindex"):
        after = log.with_suffix(suffix).stat()
        assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)
    assert log.stat().st_mtime_ns == before.st_mtime_ns
    assert log.stat().st_ino != before.st_ino


def test_a_dry_run_says_what_would_be_freed_and_changes_nothing(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = segment_bytes(directory)
    assert compact([str(directory), "--topic", "latest", "--dry-run", *NOW]) == 0
    assert "Would be compacted" in capsys.readouterr().out
    assert segment_bytes(directory) == before


def test_an_executor_must_see_what_was_locked(tmp_path: Path) -> None:
    assert "cannot be opened on" in why_out_of_reach(tmp_path / "missing")
    (tmp_path / ".lock").touch()
    script = f"from odradek.pipeline.compact.job import *; print(why_out_of_reach(Path({str(tmp_path)!r})))"
    elsewhere = [sys.executable, "-c", script]
    run = subprocess.run(elsewhere, capture_output=True, text=True, check=True)
    assert "is not the directory that was locked" in run.stdout
    with (tmp_path / ".lock").open("r+") as locked:
        fcntl.lockf(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        run = subprocess.run(elsewhere, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


def seven_partitions(directory: Path) -> None:
    """Adds six more partitions of the topic `latest`."""
    rng = random.Random(1)
    for number in range(6):
        partition(directory, f"latest-{number + 1}", keys=rng.randrange(1, 50))
    ends = {("latest", number): CompactionLog(directory / f"latest-{number}").end for number in range(7)}
    write_offset_checkpoint(Files(), directory / "replication-offset-checkpoint", ends)


def test_a_pool_of_processes_leaves_the_bytes_that_one_does(directory: Path, tmp_path: Path) -> None:
    seven_partitions(directory)
    other = tmp_path / "other"
    shutil.copytree(directory, other)
    assert compact([str(directory), "--topic", "latest", *NOW]) == 0
    order = CompactionOrder(other, START_MS + 2 * HOUR_MS, ("latest",), engine=POOL)
    assert len([outcome for outcome in compact_directory(order) if outcome.refusal is None]) == 7
    assert segment_bytes(other) == segment_bytes(directory)


@pytest.mark.parametrize("engine", [POOL, LOCAL])
def test_progress_counts_partitions_and_the_bytes_that_they_had(directory: Path, engine: str) -> None:
    seven_partitions(directory)
    sizes = {
        path.name: sum(log.stat().st_size for log in path.glob("*.log")) for path in directory.glob("latest-[0-9]")
    }
    seen: list[CompactionProgress] = []
    order = CompactionOrder(directory, START_MS + 2 * HOUR_MS, ("latest",), engine=engine, progress=seen.append)
    expected = [CompactionProgress(0, 7, 0, sum(sizes.values()))]
    for outcome in compact_directory(order):
        bytes_done = expected[-1].bytes_done + sizes[f"latest-{outcome.partition}"]
        expected.append(CompactionProgress(expected[-1].partitions_done + 1, 7, bytes_done, sum(sizes.values())))
        assert seen == expected
    assert seen[-1].bytes_done == seen[-1].bytes
    assert in_words(CompactionProgress(3, 7, 1_500_000, 12_000_000_000)) == (
        "compacting … 3 of 7 partitions, 1.5 MB of 12.0 GB"
    )


@pytest.mark.ci
@pytest.mark.java
def test_spark_leaves_the_bytes_that_the_local_engine_leaves(
    directory: Path, tmp_path: Path, spark: SparkSession
) -> None:
    seven_partitions(directory)
    other = tmp_path / "other"
    shutil.copytree(directory, other)
    assert spark.version
    assert compact([str(directory), "--topic", "latest", *NOW]) == 0
    assert compact([str(other), "--topic", "latest", "--engine", "spark", *NOW]) == 0
    assert segment_bytes(other) == segment_bytes(directory)
