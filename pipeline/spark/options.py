"""The options of the data source, by the names that Spark's Kafka source and file sources have.

Pure. `path` (or load's argument; several separated by commas), `topics` or `subscribe`, `startingOffsets`,
`endingOffsets`, `mode`, `maxPartitionBytes`. Other options are refused by name: one that is misspelt would be ignored
without a word otherwise.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PERMISSIVE = "PERMISSIVE"
FAILFAST = "FAILFAST"
DEFAULT_MAX_PARTITION_BYTES = 128 << 20
KNOWN = ("path", "topics", "subscribe", "startingOffsets", "endingOffsets", "mode", "maxPartitionBytes")

Offsets = dict[str, dict[int, int]]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What to read. Offsets by topic and partition; a partition that is not named is read from start to end."""

    paths: tuple[Path, ...]
    topics: tuple[str, ...] | None
    starting_offsets: Offsets
    ending_offsets: Offsets
    is_fail_fast: bool
    max_partition_bytes: int


def parse_options(options: Mapping[str, str]) -> ReadOptions:
    """Raises ValueError for an option that is unknown, missing or malformed."""
    given = {key.lower(): value for key, value in options.items()}
    by_name = {name: given.pop(name.lower(), None) for name in KNOWN}
    if given:
        raise ValueError(f"kafkalog has no option {', '.join(sorted(given))}; known are {', '.join(KNOWN)}")
    paths = tuple(Path(text.strip()) for text in (by_name["path"] or "").split(",") if text.strip())
    if not paths:
        raise ValueError("kafkalog needs a path: load(DIR), a log directory or a partition's directory")
    topics = by_name["topics"] or by_name["subscribe"]
    mode = (by_name["mode"] or PERMISSIVE).upper()
    if mode not in (PERMISSIVE, FAILFAST):
        raise ValueError(f"mode is {PERMISSIVE} or {FAILFAST}, not {mode}")
    return ReadOptions(
        paths,
        tuple(topic.strip() for topic in topics.split(",")) if topics else None,
        _offsets("startingOffsets", by_name["startingOffsets"], "earliest"),
        _offsets("endingOffsets", by_name["endingOffsets"], "latest"),
        mode == FAILFAST,
        _size(by_name["maxPartitionBytes"]),
    )


def _offsets(name: str, text: str | None, everything: str) -> Offsets:
    """The JSON form {"topic": {"0": 23}}; -2 is the earliest, -1 the latest, as in Spark's Kafka source."""
    if text is None or text == everything:
        return {}
    try:
        parsed = json.loads(text)
        offsets = {topic: {int(p): int(offset) for p, offset in found.items()} for topic, found in parsed.items()}
    except (ValueError, AttributeError, TypeError):
        raise ValueError(f'{name} is "{everything}" or JSON like {{"topic": {{"0": 23}}}}, not {text!r}') from None
    meaningless = -2 if everything == "latest" else -1
    if any(offset == meaningless for found in offsets.values() for offset in found.values()):
        raise ValueError(f"{name} can't be {meaningless}")
    return {topic: {p: o for p, o in found.items() if o >= 0} for topic, found in offsets.items()}


def _size(text: str | None) -> int:
    if text is None:
        return DEFAULT_MAX_PARTITION_BYTES
    unit = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(text.strip().lower().removesuffix("b")[-1:], 1)
    digits = text.strip().lower().removesuffix("b").rstrip("kmg")
    if not digits.isdigit() or int(digits) == 0:
        raise ValueError(f"maxPartitionBytes is a number of bytes, like 134217728 or 128m, not {text!r}")
    return int(digits) * unit
