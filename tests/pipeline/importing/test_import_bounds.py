"""`odradek import` and `odradek storage add-topics` refuse values that no broker can serve before they write."""

from collections.abc import Callable
from pathlib import Path

import pytest
from kafka import KafkaProducer

from odradek.pipeline.importing.command import import_topics
from odradek.pipeline.importing.job import ImportOrder, import_rows
from odradek.storage.subcommands import storage
from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.asking import NOW_MS, Asking

from ..imported_rows import row, write_parquet

HIGHEST_OFFSET = (1 << 62) - 1
HIGHEST_TIMESTAMP_MS = 1 << 62
BAD_CONFIGS = [
    (["orders:retention.ms=evil"], ["orders: retention.ms=evil: Invalid value evil", "Not a number of type LONG"]),
    (["orders:segment.bytes=-5"], ["orders: segment.bytes=-5: Invalid value -5", "at least 1048576"]),
    (["orders:retention.hours=5"], ["orders: retention.hours=5: Unknown topic config name: retention.hours"]),
    (["orders:cleanup.policy=compress"], ["orders: cleanup.policy=compress: Invalid value compress"]),
    (["orders:flush.ms=x", "orders:retention.ms=y"], ["flush.ms=x", "retention.ms=y"]),
    (
        ["orders:min.compaction.lag.ms=9", "orders:max.compaction.lag.ms=5"],
        ["min.compaction.lag.ms=9, max.compaction.lag.ms=5: conflict"],
    ),
]

Refusal = Callable[[], str]


@pytest.fixture
def refusal(capsys: pytest.CaptureFixture[str]) -> Refusal:
    return lambda: capsys.readouterr().err


@pytest.mark.parametrize(("configs", "said"), BAD_CONFIGS, ids=lambda value: value[0].partition("=")[0])
def test_an_import_with_bad_configs_writes_nothing(
    tmp_path: Path, refusal: Refusal, configs: list[str], said: list[str]
) -> None:
    source = write_parquet(tmp_path / "rows.parquet", [row(0)])
    options = [part for text in configs for part in ("--config", text)]
    assert import_topics([str(source), "--into", str(tmp_path / "logs"), *options]) == 1
    text = refusal()
    assert all(one in text for one in said), text
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize(("configs", "said"), BAD_CONFIGS, ids=lambda value: value[0].partition("=")[0])
def test_topics_with_bad_configs_are_not_added(
    tmp_path: Path, refusal: Refusal, configs: list[str], said: list[str]
) -> None:
    source = write_parquet(tmp_path / "rows.parquet", [row(0)])
    import_rows(ImportOrder([source], tmp_path / "logs", max_workers=1))
    before = sorted(path.name for path in (tmp_path / "logs").iterdir())
    options = [part for text in configs for part in ("--config", text)]
    assert storage(["add-topics", str(tmp_path / "logs"), "orders", *options]) == 1
    text = refusal()
    assert all(one in text for one in said), text
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == before


def test_configs_of_a_topic_without_rows_are_refused(tmp_path: Path, refusal: Refusal) -> None:
    source = write_parquet(tmp_path / "rows.parquet", [row(0)])
    options = ["--config", "order:retention.ms=5"]
    assert import_topics([str(source), "--into", str(tmp_path / "logs"), "--workers", "1", *options]) == 1
    assert "--config names topic order, but the input has no rows of it" in refusal()
    assert not list((tmp_path / "logs").glob("orders*"))


def write_lines(path: Path, offset: int, timestamp_ms: int) -> Path:
    path.write_text(
        f'{{"topic": "orders", "partition": 0, "offset": {offset}, "timestamp": {timestamp_ms}, "value": "x"}}\n'
    )
    return path


@pytest.mark.parametrize(
    ("offset", "timestamp_ms", "said"),
    [
        (HIGHEST_OFFSET + 1, NOW_MS, f"offset {HIGHEST_OFFSET + 1} is higher than the limit of {HIGHEST_OFFSET}"),
        ((1 << 63) - 1, NOW_MS, f"offset {(1 << 63) - 1}"),
        (0, HIGHEST_TIMESTAMP_MS + 1, f"timestamp {HIGHEST_TIMESTAMP_MS + 1}"),
    ],
)
def test_offsets_and_times_beyond_the_bounds_are_refused(
    tmp_path: Path, refusal: Refusal, offset: int, timestamp_ms: int, said: str
) -> None:
    source = write_lines(tmp_path / "rows.jsonl", offset, timestamp_ms)
    assert import_topics([str(source), "--into", str(tmp_path / "logs"), "--workers", "1"]) == 1
    assert said in refusal()
    assert not list((tmp_path / "logs").glob("orders*"))


def test_the_highest_offset_and_time_are_served(tmp_path: Path) -> None:
    """Appends, fetches, searches by time, and a start after a kill work."""
    rows = [write_lines(tmp_path / f"{number}.jsonl", *row) for number, row in enumerate(
        [(HIGHEST_OFFSET - 1, 0), (HIGHEST_OFFSET, HIGHEST_TIMESTAMP_MS)]
    )]  # fmt: skip
    logs = tmp_path / "broker" / "logs"
    assert import_topics([*map(str, rows), "--into", str(logs), "--workers", "1"]) == 0
    broker = InProcessBroker(tmp_path / "broker")
    for turn in range(2):
        broker.start()
        with KafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
            assert producer.send("orders", b"new").get(timeout=60).offset == HIGHEST_OFFSET + 1 + turn
        error, values = Asking(broker.port).fetch("orders", 0, HIGHEST_OFFSET)
        assert (error, values) == (0, [b"x", *[b"new"] * (turn + 1)])
        broker.kill()
