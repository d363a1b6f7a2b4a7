"""The memory of `odradek import` does not grow with its input."""

import sys
from pathlib import Path

import numpy
import pyarrow as pa
import pyarrow.parquet
import pytest

from odradek.pipeline.decode.arrow_columns import HEADERS_TYPE

from ..imported_rows import SPARK_SCHEMA
from ..peak_memory import growth

VALUE_BYTES = 1000
FEW, MANY = 20_000, 200_000
"""Records of 1 KB. With the sizes of peak_memory.py the first input already has more than a chunk of each step."""
MOST_GROWTH = 40_000_000
"""The second input has 180 MB more than the first."""


def write_rows(path: Path, records: int, partitions: int) -> Path:
    """Rows of one topic whose partitions take turns; row groups of 1 MB."""
    path.parent.mkdir()
    numbers = numpy.arange(records)
    data = pa.py_buffer(numpy.random.default_rng(1).bytes(records * VALUE_BYTES))
    values = pa.Array.from_buffers(pa.binary(VALUE_BYTES), records, [None, data]).cast(pa.binary())
    columns = [
        pa.nulls(records, pa.binary()),
        values,
        pa.repeat("orders", records),
        pa.array(numbers % partitions, pa.int32()),
        pa.array(numbers // partitions, pa.int64()),
        pa.array(numbers, pa.timestamp("us", "UTC")),
        pa.array(numpy.zeros(records), pa.int32()),
        pa.nulls(records, HEADERS_TYPE),
    ]
    pyarrow.parquet.write_table(pa.Table.from_arrays(columns, schema=SPARK_SCHEMA), path, row_group_size=1000)
    return path


@pytest.mark.ci
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read from /proc")
@pytest.mark.parametrize("partitions", [1, 40])
def test_ten_times_the_rows_need_no_more_memory(tmp_path: Path, partitions: int) -> None:
    first = write_rows(tmp_path / "first" / "rows.parquet", FEW, partitions)
    second = write_rows(tmp_path / "second" / "rows.parquet", MANY, partitions)
    assert growth("import", first, second) < MOST_GROWTH
