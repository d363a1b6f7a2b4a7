"""The CSV files of ``odradek groups --reset-offsets``: written by ``--export``, read by ``--from-file``.

A line is ``topic,partition,offset`` for one group, ``group,topic,partition,offset`` for several. Owns: Kafka's quoting,
so that Kafka's tool and this one can read each other's files. Pure.
Source: ``CsvUtils``, ``OffsetsUtils.parseResetPlan``, Jackson's encoder.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence

import click

from ...types import TopicPartition

QUOTE_LONGER_THAN = 24
FIRST_SAFE_CHARACTER = "-"


def csv_text(offsets: Mapping[str, Mapping[TopicPartition, int]], *, with_group: bool) -> str:
    """A line for each partition, sorted."""
    lines = []
    for group_id, of_group in sorted(offsets.items()):
        for (topic, partition), offset in sorted(of_group.items()):
            group = [_field(group_id)] if with_group else []
            lines.append(",".join([*group, _field(topic), str(partition), str(offset)]) + "\n")
    return "".join(lines)


def _field(text: str) -> str:
    """Quotes a field if Jackson does: if it is long, or has a character below ``-``."""
    if len(text) > QUOTE_LONGER_THAN or any(character < FIRST_SAFE_CHARACTER for character in text):
        return '"' + text.replace('"', '""') + '"'
    return text


def parse_plan(text: str, group_ids: Sequence[str], path: str) -> dict[str, dict[TopicPartition, int]]:
    """The offsets for each group. Lines without a group are for the only one in ``group_ids``. Raises UsageError."""
    lines = [(number, fields) for number, fields in enumerate(csv.reader(text.splitlines()), 1) if fields]
    without_group = len(group_ids) == 1 and bool(lines) and len(lines[0][1]) == len(("topic", "partition", "offset"))
    plan: dict[str, dict[TopicPartition, int]] = {}
    for number, fields in lines:
        group_id, rest = (group_ids[0], fields) if without_group else (fields[0], fields[1:])
        try:
            topic, partition, offset = rest
            plan.setdefault(group_id, {})[TopicPartition(topic, int(partition))] = int(offset)
        except ValueError:
            shape = "topic,partition,offset" if without_group else "group,topic,partition,offset"
            raise click.UsageError(f"--from-file {path}, line {number}: {_shown(fields)} is not {shape}") from None
    return plan


def _shown(fields: Iterable[str]) -> str:
    return repr(",".join(fields))
