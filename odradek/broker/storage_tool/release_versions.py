"""The feature levels that ``format`` finalizes for each level of metadata.version.

Pure. Source: Kafka's MetadataVersion, Feature.
"""

from odradek.protocol.apis.metadata_versions import LEVELS

from ..metadata.image.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    GROUP_VERSION,
    LATEST_GROUP_VERSION,
    LATEST_METADATA_VERSION,
    LATEST_TRANSACTION_VERSION,
    METADATA_VERSION,
    MINIMUM_METADATA_VERSION,
    TRANSACTION_VERSION,
)

ELR_DEFAULT_SINCE = LEVELS["4.1-IV0"]
GROUP_VERSION_DEFAULT_SINCE = LEVELS["4.0-IV0"]
TRANSACTION_VERSION_DEFAULT_SINCE = LEVELS["4.0-IV2"]
SCRAM_SINCE = LEVELS["3.5-IV2"]


def default_features(level: int) -> dict[str, int]:
    """Feature -> the level that is finalized by default at a level of metadata.version. Only supported features."""
    assert MINIMUM_METADATA_VERSION <= level <= LATEST_METADATA_VERSION
    features = {METADATA_VERSION: level}
    if level >= ELR_DEFAULT_SINCE:
        features[ELIGIBLE_LEADER_REPLICAS_VERSION] = 1
    if level >= GROUP_VERSION_DEFAULT_SINCE:
        features[GROUP_VERSION] = LATEST_GROUP_VERSION
    if level >= TRANSACTION_VERSION_DEFAULT_SINCE:
        features[TRANSACTION_VERSION] = LATEST_TRANSACTION_VERSION
    return features
