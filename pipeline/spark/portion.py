"""What one Spark task reads, as Spark wants it."""

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition


@dataclass
class Portion(InputPartition):
    """Splits, tables' tasks or what was lost: read one after the other."""

    items: tuple[object, ...]


def portions(groups: Iterable[tuple[object, ...]]) -> list[InputPartition]:
    """One for each group; a list, which is what Spark's planner takes."""
    return [Portion(group) for group in groups]
