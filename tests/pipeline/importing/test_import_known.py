"""`odradek storage add-topics`: the partition directories that it adds to the metadata, and refusals."""

from pathlib import Path

import pytest

from odradek.pipeline.directories.metadata_reader import read_cluster_metadata
from odradek.pipeline.importing.inputs import ImportRefusedError
from odradek.pipeline.importing.job import ImportOrder, import_rows
from odradek.storage.directory.directory_lock import DirectoryLock
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import (
    MetaProperties,
    read_meta_properties,
    read_partition_metadata,
    write_meta_properties,
)
from odradek.storage.subcommands import storage

from ..imported_rows import row, write_parquet


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A new directory with the partitions of two topics that are not in any metadata."""
    rows = [row(0), row(0, partition=1), row(5, topic="other")]
    source = write_parquet(tmp_path / "rows.parquet", rows)
    import_rows(ImportOrder([source], tmp_path / "logs", max_workers=1))
    return tmp_path / "logs"


def test_topics_become_known_one_after_the_other(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert storage(["add-topics", str(logs), "orders", "--config", "orders:cleanup.policy=compact"]) == 0
    assert "added topic orders with 2 partitions" in capsys.readouterr().out
    meta = read_meta_properties(Files(), logs)
    assert storage(["add-topics", str(logs), "other"]) == 0
    assert read_meta_properties(Files(), logs) == meta
    known = read_cluster_metadata(logs)
    assert {name: facts.topic_id for name, facts in known.topics.items()} == {
        name: read_partition_metadata(Files(), logs / f"{name}-0") for name in ("orders", "other")
    }
    assert known.topic_configs["orders"] == {
        "cleanup.policy": "compact",
        "retention.ms": "-1",
        "retention.bytes": "-1",
    }


def test_what_is_refused(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refusal(*arguments: str) -> str:
        assert storage(["add-topics", str(logs), *arguments]) == 1
        return capsys.readouterr().err

    assert "has no partition of nothing" in refusal("orders", "nothing")
    assert "internal topics can't be added" in refusal("__consumer_offsets")
    lock = DirectoryLock(logs)
    assert "has this log directory open" in refusal("orders")
    lock.close()
    (logs / "other-0" / "partition.metadata").rename(logs / "moved")
    assert "no partition.metadata" in refusal("other")
    assert not (logs / "__cluster_metadata-0").exists(), "nothing was begun"
    assert storage(["add-topics", str(logs), "orders"]) == 0
    capsys.readouterr()
    assert "already has topic orders" in refusal("orders")
    assert storage(["add-topics", str(logs), "orders", "--config", "other:retention.ms=5"]) == 2


def test_a_directory_whose_metadata_lies_elsewhere_is_refused(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_meta_properties(Files(), logs, MetaProperties("c" * 22, 1, b"d" * 16))
    assert storage(["add-topics", str(logs), "orders"]) == 1
    assert "does not have the cluster metadata" in capsys.readouterr().err
    with pytest.raises(ImportRefusedError, match="has no cluster metadata"):
        import_rows(ImportOrder([tmp_path / "rows.parquet"], logs, topic="third", max_workers=1))
    assert not list(logs.glob("third*"))
    assert not (logs / "__cluster_metadata-0").exists()
