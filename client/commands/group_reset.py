"""Where ``odradek groups --reset-offsets`` sets committed offsets.

Source: ``ConsumerGroupCommand.prepareOffsetsToReset``: offsets outside the log are moved to its ends.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import click

from ..types import OffsetAndMetadata, TopicPartition
from .running import CommandError

if TYPE_CHECKING:
    from ..admin import Admin

DURATION = re.compile(r"([+-]?)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?)?")


class ResetTo(NamedTuple):
    """A way to reset: ``kind`` is the option's name without dashes, ``value`` an offset, a shift or a time in ms."""

    kind: str
    value: int = 0


def reset_target(
    to_earliest: bool,
    to_latest: bool,
    to_current: bool,
    to_offset: int | None,
    shift_by: int | None,
    to_datetime: str | None,
    by_duration: str | None,
) -> ResetTo:
    """The one way that was asked for. Raises UsageError."""
    given = {
        "to-earliest": to_earliest,
        "to-latest": to_latest,
        "to-current": to_current,
        "to-offset": to_offset is not None,
        "shift-by": shift_by is not None,
        "to-datetime": to_datetime is not None,
        "by-duration": by_duration is not None,
    }
    chosen = [name for name, wanted in given.items() if wanted]
    if len(chosen) != 1:
        names = ", ".join(f"--{name}" for name in given)
        raise click.UsageError(f"--reset-offsets needs exactly one of these options: {names}")
    if to_offset is not None or shift_by is not None:
        return ResetTo(chosen[0], to_offset if to_offset is not None else shift_by or 0)
    if to_datetime is not None:
        return ResetTo("to-time", parse_datetime(to_datetime))
    if by_duration is not None:
        return ResetTo("to-time", int(time.time() * 1000) - parse_duration_ms(by_duration))
    return ResetTo(chosen[0])


def parse_datetime(text: str) -> int:
    """Milliseconds since 1970 of ``YYYY-MM-DDTHH:mm:SS.sss``, in UTC without an offset. Raises UsageError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(f"--to-datetime {text}: must be like 2026-01-31T12:00:00.000") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def parse_duration_ms(text: str) -> int:
    """Milliseconds of an ISO 8601 duration ``PnDTnHnMnS``. Raises UsageError."""
    match = DURATION.fullmatch(text)
    if match is None or not re.search(r"\d", text):
        raise click.UsageError(f"--by-duration {text}: must be like P1DT2H3M4S")
    sign, days, hours, minutes, seconds, fraction = match.groups()
    whole = ((int(days or 0) * 24 + int(hours or 0)) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    milliseconds = whole * 1000 + int((fraction or "0").ljust(3, "0")[:3])
    return -milliseconds if sign == "-" else milliseconds


async def reset_offsets(
    admin: Admin, group_id: str, partitions: list[TopicPartition] | None, to: ResetTo
) -> dict[TopicPartition, OffsetAndMetadata]:
    """The new offset of each partition (None: of all that have one). Raises CommandError, KafkaError."""
    from ..list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP

    committed = await admin.list_group_offsets(group_id)
    wanted = sorted(committed) if partitions is None else partitions
    if not wanted:
        raise CommandError(f"group '{group_id}' has no committed offsets; name topics with --topic")
    starts = await _offsets(admin, wanted, EARLIEST_TIMESTAMP)
    ends = await _offsets(admin, wanted, LATEST_TIMESTAMP)
    if to.kind == "to-earliest":
        targets: Mapping[TopicPartition, int] = starts
    elif to.kind == "to-latest":
        targets = ends
    elif to.kind == "to-time":
        found = await _offsets(admin, wanted, to.value)
        targets = {p: offset if offset >= 0 else ends[p] for p, offset in found.items()}
    elif to.kind == "to-offset":
        targets = dict.fromkeys(wanted, to.value)
    elif to.kind == "to-current":
        targets = {p: committed[p].offset if p in committed else ends[p] for p in wanted}
    else:
        missing = [str(p) for p in wanted if p not in committed]
        if missing:
            raise CommandError(
                f"Cannot shift offset for partition {missing[0]} since there is no current committed offset"
            )
        targets = {p: committed[p].offset + to.value for p in wanted}
    return {p: OffsetAndMetadata(min(max(offset, starts[p]), ends[p])) for p, offset in targets.items()}


async def _offsets(admin: Admin, partitions: list[TopicPartition], timestamp: int) -> dict[TopicPartition, int]:
    found = await admin.list_offsets(dict.fromkeys(partitions, timestamp))
    return {partition: offset.offset for partition, offset in found.items()}
