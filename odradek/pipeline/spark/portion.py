"""The input of one Spark task (an InputPartition), and the iteration over it in a Python worker."""

import gc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from pyspark.sql.datasource import InputPartition


@dataclass
class ReadPortion(InputPartition):
    """The items that a Spark task reads in order: splits, tasks of tables, unread partitions or lost offsets."""

    items: tuple[object, ...]


def portions(groups: Iterable[tuple[object, ...]]) -> list[InputPartition]:
    """A ReadPortion for each group of items, in a list, which Spark's planner requires."""
    return [ReadPortion(group) for group in groups]


def items_of(partition: InputPartition | None) -> Iterator[object]:
    """Yields the items of a task in order. `partition` is None for an empty plan.

    PySpark runs the garbage collector after every task. The objects that numba, Arrow and numpy create at import stay
    as long as the worker, and a collection over them took 70 ms, as long as reading 100 MB. They are therefore frozen
    after the first item, so that later collections skip them.
    """
    for item in partition.items if isinstance(partition, ReadPortion) else ():
        yield item
        freeze_once()


@cache
def freeze_once() -> None:
    """Freezes the objects of this process, the first time. Asking Python for their number visits all of them, each
    time."""
    gc.collect()
    gc.freeze()
