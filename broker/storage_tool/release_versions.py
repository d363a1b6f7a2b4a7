"""The levels of metadata.version by the names of Kafka's releases, and the features that a format finalises for each.

Pure. Source: Kafka's MetadataVersion, Feature.
"""

from ..metadata.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    GROUP_VERSION,
    LATEST_GROUP_VERSION,
    LATEST_METADATA_VERSION,
    LATEST_TRANSACTION_VERSION,
    METADATA_VERSION,
    MINIMUM_METADATA_VERSION,
    TRANSACTION_VERSION,
)

_RELEASES = (
    *(("3.3", 3), ("3.4", 0), ("3.5", 0), ("3.5", 1), ("3.5", 2), ("3.6", 0), ("3.6", 1), ("3.6", 2), ("3.7", 0)),
    *(("3.7", 1), ("3.7", 2), ("3.7", 3), ("3.7", 4), ("3.8", 0), ("3.9", 0), ("4.0", 0), ("4.0", 1), ("4.0", 2)),
    *(("4.0", 3), ("4.1", 0), ("4.1", 1), ("4.2", 0), ("4.2", 1), ("4.3", 0)),
)
LEVELS = {f"{release}-IV{step}": level for level, (release, step) in enumerate(_RELEASES, MINIMUM_METADATA_VERSION)}
"""``3.3-IV3`` -> 7 and so on, rising."""
ELR_DEFAULT_SINCE = LEVELS["4.1-IV0"]
GROUP_VERSION_DEFAULT_SINCE = LEVELS["4.0-IV0"]
TRANSACTION_VERSION_DEFAULT_SINCE = LEVELS["4.0-IV2"]
SCRAM_SINCE = LEVELS["3.5-IV2"]


def release_level(text: str) -> int:
    """The level of a release: ``4.3-IV0``, or ``4.3`` for its last one. Raises ValueError in Kafka's words."""
    if text in LEVELS:
        return LEVELS[text]
    levels = [level for name, level in LEVELS.items() if name.partition("-")[0] == text]
    # A release of fixes, 3.9.1, has the level of 3.9.
    levels = levels or [level for name, level in LEVELS.items() if text.startswith(name.partition("-")[0] + ".")]
    if not levels:
        supported = ", ".join(LEVELS)
        raise ValueError(f"Unknown metadata.version '{text}'. Supported metadata.version are: {supported}")
    return levels[-1]


def level_name(level: int) -> str:
    """The name of a level; its number if it has no name."""
    return next((name for name, number in LEVELS.items() if number == level), str(level))


def default_features(level: int) -> dict[str, int]:
    """The levels of the supported features that are finalised at a level of metadata.version."""
    assert MINIMUM_METADATA_VERSION <= level <= LATEST_METADATA_VERSION
    features = {METADATA_VERSION: level}
    if level >= ELR_DEFAULT_SINCE:
        features[ELIGIBLE_LEADER_REPLICAS_VERSION] = 1
    if level >= GROUP_VERSION_DEFAULT_SINCE:
        features[GROUP_VERSION] = LATEST_GROUP_VERSION
    if level >= TRANSACTION_VERSION_DEFAULT_SINCE:
        features[TRANSACTION_VERSION] = LATEST_TRANSACTION_VERSION
    return features
