"""What one Spark task reads, as Spark wants it, and what a Python worker keeps from task to task."""

import gc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition


@dataclass
class ReadPortion(InputPartition):
    """Splits, tables' tasks or what was lost: read one after the other."""

    items: tuple[object, ...]


def portions(groups: Iterable[tuple[object, ...]]) -> list[InputPartition]:
    """One for each group; a list, which is what Spark's planner takes."""
    return [ReadPortion(group) for group in groups]


def items_of(partition: InputPartition | None) -> Iterator[object]:
    """What a task is to read, in order; nothing for None, the partition of an empty plan.

    PySpark looks for garbage behind every task. What numba, Arrow and numpy brought with the first item stays as long
    as the worker, and looking through it took 70 ms each time, as long as reading 100 MB: from then on it is left out.
    """
    for item in partition.items if isinstance(partition, ReadPortion) else ():
        yield item
        if gc.get_freeze_count() == 0:
            gc.collect()
            gc.freeze()
