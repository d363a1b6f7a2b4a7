"""The levels of metadata.version by the names of Kafka's releases, and the levels of the other features.

Pure. Source: Kafka's MetadataVersion, Feature and the FeatureVersions that it lists; KIP-584, KIP-1022.
"""

from typing import NamedTuple

METADATA_VERSION = "metadata.version"
LOWEST_LEVEL = 7

_RELEASES = (
    *(("3.3", 3), ("3.4", 0), ("3.5", 0), ("3.5", 1), ("3.5", 2), ("3.6", 0), ("3.6", 1), ("3.6", 2), ("3.7", 0)),
    *(("3.7", 1), ("3.7", 2), ("3.7", 3), ("3.7", 4), ("3.8", 0), ("3.9", 0), ("4.0", 0), ("4.0", 1), ("4.0", 2)),
    *(("4.0", 3), ("4.1", 0), ("4.1", 1), ("4.2", 0), ("4.2", 1), ("4.3", 0), ("4.4", 0), ("4.4", 1), ("4.4", 2)),
)
LEVELS = {f"{release}-IV{step}": level for level, (release, step) in enumerate(_RELEASES, LOWEST_LEVEL)}
"""Name of a metadata.version -> its level: ``3.3-IV3`` -> 7, and so on in rising order."""


def release_level(text: str) -> int:
    """The level of ``4.3-IV0``; for ``4.3``, the last level of that release. Raises ValueError with Kafka's message."""
    if text in LEVELS:
        return LEVELS[text]
    levels = [level for name, level in LEVELS.items() if name.partition("-")[0] == text]
    # A patch release such as 3.9.1 has the level of 3.9.
    levels = levels or [level for name, level in LEVELS.items() if text.startswith(name.partition("-")[0] + ".")]
    if not levels:
        supported = ", ".join(LEVELS)
        raise ValueError(f"Unknown metadata.version '{text}'. Supported metadata.version are: {supported}")
    return levels[-1]


def level_name(level: int) -> str:
    """The name of a level; its number as text if it has no name."""
    return next((name for name, number in LEVELS.items() if number == level), str(level))


class FeatureLevel(NamedTuple):
    """One level of a feature. ``default_since``: the first metadata.version that finalizes it by default. ``needs``:
    other feature -> the level that it must have.
    """

    default_since: int
    needs: dict[str, int]


FIRST = FeatureLevel(LOWEST_LEVEL, {})

FEATURE_LEVELS: dict[str, tuple[FeatureLevel, ...]] = {
    "kraft.version": (FIRST, FeatureLevel(LEVELS["3.9-IV0"], {})),
    "transaction.version": (FIRST, FeatureLevel(LEVELS["4.0-IV2"], {}), FeatureLevel(LEVELS["4.0-IV2"], {})),
    "group.version": (FIRST, FeatureLevel(LEVELS["4.0-IV0"], {})),
    "eligible.leader.replicas.version": (
        FIRST,
        FeatureLevel(LEVELS["4.1-IV0"], {METADATA_VERSION: LEVELS["4.0-IV1"]}),
    ),
    "share.version": (FIRST, FeatureLevel(LEVELS["4.2-IV0"], {}), FeatureLevel(LEVELS["4.4-IV0"], {})),
    "streams.version": (FIRST, FeatureLevel(LEVELS["4.2-IV1"], {})),
}
"""Feature -> its levels; the index is the level. In Kafka's order."""


def default_levels(metadata_version: int) -> dict[str, int]:
    """Feature -> the level that is finalized by default with this metadata.version; 0 if none is."""
    return {
        name: max(number for number, level in enumerate(levels) if level.default_since <= metadata_version)
        for name, levels in FEATURE_LEVELS.items()
    }
