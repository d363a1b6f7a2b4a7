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

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ResetTo(NamedTuple):
    """A target. ``kind``: the option without its leading dashes (to-time for --to-datetime and --by-duration).

    ``value``: the offset, the shift, or the time in ms since 1970. ``plan``: the offsets in the file.
    """

    kind: str
    value: int = 0
    plan: Mapping[str, Mapping[TopicPartition, int]] = {}


def reset_target(targets: Mapping[str, str | int | bool | None], group_ids: Sequence[str]) -> ResetTo:
    """The one target that was given. Raises UsageError, and CommandError for a file that cannot be read.

    ``targets``: option without its leading dashes -> its value; None or False if it was not given.
    """
    chosen = [name for name, value in targets.items() if value is not None and value is not False]
    if len(chosen) != 1:
        names = ", ".join(f"--{name}" for name in targets)
        raise click.UsageError(f"--reset-offsets needs exactly one of these options: {names}")
    kind, value = chosen[0], targets[chosen[0]]
    if kind == "to-datetime":
        return ResetTo("to-time", parse_datetime(str(value)))
    if kind == "by-duration":
        return ResetTo("to-time", clock_ms() - parse_duration_ms(str(value)))
    if kind == "from-file":
        return ResetTo(kind, plan=_read_plan(str(value), group_ids))
    return ResetTo(kind, int(value or 0))


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
