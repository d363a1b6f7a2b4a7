"""Rows in the form of Spark's Kafka source, for tests of `odradek import`, and the rows in a directory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from odradek.pipeline.decode.arrow_columns import HEADERS_TYPE
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.record import decode_records

SPARK_SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
        ("headers", HEADERS_TYPE),
    ]
)
"""The schema of Spark's Kafka source and of `odradek export`."""
Found = list[dict[str, Any]]


def row(offset: int, *, partition: int = 0, topic: str = "orders", **fields: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "key": b"k%d" % (offset % 7),
        "value": b"v%d" % offset,
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "timestamp": 1_700_000_000_000_000 + offset * 1000,
        "timestampType": 0,
        "headers": None,
    }
    return usual | fields


def write_parquet(path: Path, rows: Sequence[dict[str, Any]], *, row_group_size: int = 100) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows, SPARK_SCHEMA), path, row_group_size=row_group_size)
    return path


def records_in(directory: Path) -> Found:
    """All rows, from the log files, by the decoder in `protocol/`."""
    rows = []
    for path in sorted(directory.glob("*/*.log")):
        topic, _, partition = path.parent.name.rpartition("-")
        if topic == "__cluster_metadata":
            continue
        log = path.read_bytes()
        for position, header in iterate_headers(log):
            rows += [
                {
                    "key": record.key,
                    "value": record.value,
                    "topic": topic,
                    "partition": int(partition),
                    "offset": record.offset,
                    "timestamp": record.timestamp * 1000,
                    "timestampType": int(header.is_log_append_time),
                    "headers": [{"key": key, "value": value} for key, value in record.headers] or None,
                }
                for record in decode_records(log, header, position)
            ]
    return rows


def in_order(rows: Sequence[dict[str, Any]]) -> Found:
    return sorted(rows, key=lambda one: (one["topic"], one["partition"], one["offset"]))
