"""The options of ``--reset-offsets``, which the commands of consumer, share and streams groups have in common.

Owns: the checks that hold for all three. Source: ``ConsumerGroupCommandOptions``, ``StreamsGroupCommandOptions`` and
``ShareGroupCommandOptions``; the last one lacks ``--shift-by`` and ``--by-duration``.
"""

from __future__ import annotations

from dataclasses import dataclass

import click

from odradek.protocol.common.command_options import flag, option


@dataclass(frozen=True, kw_only=True)
class ResetChoice:
    """Where the offsets are reset to, and whether they are."""

    to_earliest: bool = flag("--to-earliest", help="Reset to the log start offset.")
    to_latest: bool = flag("--to-latest", help="Reset to the log end offset.")
    to_current: bool = flag("--to-current", help="Reset to the group's offset, or to the log end if it has none.")
    to_offset: int | None = option("--to-offset", type=int, help="Reset to this offset.")
    shift_by: int | None = option(
        "--shift-by", type=int, help="Move the offset forward by N, or backward if N is negative."
    )
    to_datetime: str | None = option(
        "--to-datetime", metavar="YYYY-MM-DDThh:mm:ss.sss", help="Reset to the first record at or after this time."
    )
    by_duration: str | None = option(
        "--by-duration", metavar="PnDTnHnMnS", help="Reset to the first record at or after this long ago."
    )
    from_file: str | None = option("--from-file", metavar="CSV", help="Reset to the offsets in a file.")
    execute: bool = flag("--execute", help="With --reset-offsets: set the offsets.")
    dry_run: bool = flag("--dry-run", help="With --reset-offsets: only show the new offsets.")
    export: bool = flag("--export", help="With --reset-offsets: print CSV for --from-file.")

    @property
    def targets(self) -> dict[str, str | int | bool | None]:
        """The targets with their values; None or False if one was not given."""
        return {
            "to-earliest": self.to_earliest,
            "to-latest": self.to_latest,
            "to-current": self.to_current,
            "to-offset": self.to_offset,
            "shift-by": self.shift_by,
            "to-datetime": self.to_datetime,
            "by-duration": self.by_duration,
            "from-file": self.from_file,
        }

    def check(self, action: str, as_json: bool) -> None:
        """Raises UsageError if they cannot be combined with each other, ``action`` or ``--json`` (``as_json``)."""
        if action != "reset-offsets":
            if self.export or self.execute or self.dry_run:
                raise click.UsageError("--execute, --dry-run and --export go with --reset-offsets")
        elif self.export and as_json:
            raise click.UsageError("--export writes CSV: use it without --json")

    def check_one_scope(self, topics: tuple[str, ...], all_topics: bool, names: tuple[str, str]) -> None:
        """Raises UsageError unless exactly one of ``--execute`` and ``--dry-run`` is given, and one scope: a file,
        topics, or all topics, whose options are called ``names``."""
        if self.execute == self.dry_run:
            raise click.UsageError("--reset-offsets takes one of these options: --dry-run, --execute")
        if sum((bool(topics), all_topics, self.from_file is not None)) != 1:
            scopes = ", ".join(sorted(("--from-file", *names)))
            raise click.UsageError(f"--reset-offsets takes one of these options: {scopes}")
