"""Parses the target of ``odradek groups --reset-offsets``: an offset, a shift, a time, a duration or a file.

Owns: parsing the target's options. Never does: requests to brokers. Source: ``OffsetsUtils``,
``Utils.getDateTime``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import click

from odradek.protocol.common.wall_clock import clock_ms

from ...consumer import durations
from ...types import TopicPartition
from ..running import CommandError
from .csv import parse_plan
from .options import GroupOptions

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ResetTo(NamedTuple):
    """A target. ``kind``: the option without its leading dashes (to-time for --to-datetime and --by-duration).

    ``value``: the offset, the shift, or the time in ms since 1970. ``plan``: the offsets in the file.
    """

    kind: str
    value: int = 0
    plan: Mapping[str, Mapping[TopicPartition, int]] = {}


def reset_target(options: GroupOptions) -> ResetTo:
    """The one target that was given. Raises UsageError, and CommandError for a file that cannot be read."""
    given = {
        "to-earliest": options.to_earliest,
        "to-latest": options.to_latest,
        "to-current": options.to_current,
        "to-offset": options.to_offset is not None,
        "shift-by": options.shift_by is not None,
        "to-datetime": options.to_datetime is not None,
        "by-duration": options.by_duration is not None,
        "from-file": options.from_file is not None,
    }
    chosen = [name for name, is_given in given.items() if is_given]
    if len(chosen) != 1:
        names = ", ".join(f"--{name}" for name in given)
        raise click.UsageError(f"--reset-offsets needs exactly one of these options: {names}")
    if options.to_datetime is not None:
        return ResetTo("to-time", parse_datetime(options.to_datetime))
    if options.by_duration is not None:
        return ResetTo("to-time", clock_ms() - parse_duration_ms(options.by_duration))
    if options.from_file is not None:
        return ResetTo("from-file", plan=_read_plan(options.from_file, options.groups))
    return ResetTo(chosen[0], options.to_offset if options.to_offset is not None else options.shift_by or 0)


def _read_plan(path: str, group_ids: Sequence[str]) -> dict[str, dict[TopicPartition, int]]:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
    except OSError as error:
        raise CommandError(f"--from-file {path}: {error.strerror}") from None
    return parse_plan(text, group_ids, path)


def parse_datetime(text: str) -> int:
    """The ms since 1970 of ``YYYY-MM-DDThh:mm:ss.sss``, which is UTC if it has no offset. Raises UsageError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(f"--to-datetime {text}: must be like 2026-01-31T12:00:00.000") from None
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // timedelta(milliseconds=1)


def parse_duration_ms(text: str) -> int:
    """Milliseconds of an ISO 8601 duration ``PnDTnHnMn.nS``, rounded down. Raises UsageError."""
    try:
        return durations.parse_duration_ms(text)
    except ValueError:
        raise click.UsageError(f"--by-duration {text}: must be like P1DT2H3M4S") from None
