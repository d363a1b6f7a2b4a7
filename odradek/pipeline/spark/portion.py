"""The input of one Spark task (an InputPartition), and the iteration over it in a Python worker."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition

from ..engine.frozen_objects import freeze_once


@dataclass
class ReadPortion(InputPartition):
    """The items that a Spark task reads in order: splits, tasks of tables, unread partitions or lost offsets."""

    items: tuple[object, ...]


def portions(groups: Iterable[tuple[object, ...]]) -> list[InputPartition]:
    """A ReadPortion for each group of items, in a list, which Spark's planner requires."""
    return [ReadPortion(group) for group in groups]


def items_of(partition: InputPartition | None) -> Iterator[object]:
    """Yields the items of a task in order. `partition` is None for an empty plan.

    After the first item, what the worker has imported is frozen (frozen_objects.py).
    """
    for item in partition.items if isinstance(partition, ReadPortion) else ():
        yield item
        freeze_once()
