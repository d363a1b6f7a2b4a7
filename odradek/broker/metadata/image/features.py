"""Feature levels: those that this broker supports, those of a new directory, and the record versions that follow from
them.

Pure. Source: Kafka's Feature, MetadataVersion, KIP-584, KIP-1022.
"""

from collections.abc import Mapping

from odradek.protocol.apis.metadata_versions import default_levels, level_name
from odradek.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)
from odradek.protocol.messages.structure import Message

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
ELIGIBLE_LEADER_REPLICAS_VERSION = "eligible.leader.replicas.version"
TRANSACTION_VERSION = "transaction.version"
GROUP_VERSION = "group.version"
SHARE_VERSION = "share.version"
STREAMS_VERSION = "streams.version"

MINIMUM_METADATA_VERSION = 7
LATEST_METADATA_VERSION = 33
"""4.4-IV2, the production level of Kafka 4.4."""
LATEST_KRAFT_VERSION = 1
LATEST_GROUP_VERSION = 1
"""KIP-848: the new consumer protocol."""
LATEST_SHARE_VERSION = DEAD_LETTERS_SUPPORTED = 2
"""The level of share.version from which share groups may have dead letters (KIP-1191)."""
LATEST_STREAMS_VERSION = 1
"""KIP-1071: streams groups."""
LATEST_TRANSACTION_VERSION = 2
"""KIP-890: an epoch for each transaction."""

MIGRATION_SUPPORTED = 8
DIRECTORY_ASSIGNMENT_SUPPORTED = 17
"""3.7-IV2 (KIP-858)."""
SCRAM_SUPPORTED = 11
"""3.5-IV2."""
CONTROLLER_REGISTRATION_SUPPORTED = 15
METADATA_TRANSACTION_SUPPORTED = 14
DELEGATION_TOKENS_SUPPORTED = 14
"""3.6-IV2 (KIP-900)."""
ELR_SUPPORTED = 23
"""4.0-IV1 (KIP-966)."""
CORDONED_DIRECTORIES_SUPPORTED = 30
HOST_RANGES_SUPPORTED = 32
"""4.4-IV1 (KIP-1276): the host of an ACL may be a range of addresses."""
CONTROLLER_UNREGISTRATION_SUPPORTED = 33
"""4.4-IV2."""

METADATA_CHANGED_AT = frozenset({8, 11, 13, 14, 15, 17, 23, 30, 32, 33})
"""The levels of metadata.version whose records have what earlier levels have no place for
(``MetadataVersion.didMetadataChange``). A downgrade past one of them may lose metadata."""

SUPPORTED_FEATURES: dict[str, tuple[int, int]] = {
    ELIGIBLE_LEADER_REPLICAS_VERSION: (0, 1),
    GROUP_VERSION: (0, LATEST_GROUP_VERSION),
    KRAFT_VERSION: (0, LATEST_KRAFT_VERSION),
    METADATA_VERSION: (MINIMUM_METADATA_VERSION, LATEST_METADATA_VERSION),
    SHARE_VERSION: (0, LATEST_SHARE_VERSION),
    STREAMS_VERSION: (0, LATEST_STREAMS_VERSION),
    TRANSACTION_VERSION: (0, LATEST_TRANSACTION_VERSION),
}
"""Feature name -> lowest and highest level."""

BOOTSTRAP_METADATA_VERSION = LATEST_METADATA_VERSION
FORMER_METADATA_VERSION = 30
"""4.3-IV0, the last level of Kafka 4.3. An earlier Kafka can't use a directory of a later level, and reads no level in
the first checkpoint, where 4.4 has it."""


def default_features(metadata_version: int) -> dict[str, int]:
    """Feature -> the level that a new directory finalises at this metadata.version, which is the first entry.

    Only features in SUPPORTED_FEATURES, at most at their levels there. kraft.version is not a metadata record: it is in
    the first checkpoint.
    """
    assert MINIMUM_METADATA_VERSION <= metadata_version <= LATEST_METADATA_VERSION
    by_default = sorted(default_levels(metadata_version).items())
    served = {
        name: min(level, SUPPORTED_FEATURES[name][1])
        for name, level in by_default
        if name in SUPPORTED_FEATURES and name != KRAFT_VERSION
    }
    return {METADATA_VERSION: metadata_version} | {name: level for name, level in served.items() if level}


BOOTSTRAP_FEATURES = default_features(BOOTSTRAP_METADATA_VERSION)
"""The levels that a new directory finalises."""


def feature_records(features: Mapping[str, int]) -> list[Message]:
    """The records of feature levels: metadata.version first, then the others by name. A level of 0 has no record."""
    names = [METADATA_VERSION, *sorted(features.keys() - {METADATA_VERSION})]
    return [FeatureLevelRecord(name, features[name]) for name in names if features[name]]


def no_way_back(level: int) -> str:
    """One line about a level of metadata.version above that of Kafka 4.3."""
    name = level_name(level)
    return (
        f"metadata.version is {level} ({name}): Apache Kafka before {name.partition('-')[0]} can't use this directory,"
        " and the level can't be lowered"
    )


def levels_problem(levels: Mapping[str, int]) -> str | None:
    """Why a directory with these finalised levels can't be served; None if it can.

    Source: QuorumFeatures.reasonNotSupported, Feature.validateVersion.
    """
    metadata_version = levels.get(METADATA_VERSION)
    if metadata_version is None:
        return "no metadata.version is finalised in this directory; Apache Kafka would not start on it either"
    if not MINIMUM_METADATA_VERSION <= metadata_version <= LATEST_METADATA_VERSION:
        return (
            f"metadata.version {metadata_version} is finalised in this directory; supported are "
            f"{MINIMUM_METADATA_VERSION} to {LATEST_METADATA_VERSION}"
        )
    if levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) and metadata_version < ELR_SUPPORTED:
        return (
            f"{ELIGIBLE_LEADER_REPLICAS_VERSION} {levels[ELIGIBLE_LEADER_REPLICAS_VERSION]} needs metadata.version "
            f"{ELR_SUPPORTED} at least, and {metadata_version} is finalised in this directory"
        )
    return None


def partition_record_version(metadata_version: int) -> int:
    """The version of Partition and PartitionChange records."""
    if metadata_version >= ELR_SUPPORTED:
        return 2
    return 1 if metadata_version >= DIRECTORY_ASSIGNMENT_SUPPORTED else 0


def register_broker_record_version(metadata_version: int) -> int:
    """The version of RegisterBroker records."""
    if metadata_version >= CORDONED_DIRECTORIES_SUPPORTED:
        return 4
    if metadata_version >= DIRECTORY_ASSIGNMENT_SUPPORTED:
        return 3
    return 2 if metadata_version >= MIGRATION_SUPPORTED else 1


def registration_change_version(record: BrokerRegistrationChangeRecord) -> int:
    """The lowest version that can hold the record, as Kafka writes it."""
    if record.cordoned_log_dirs is not None:
        return 3
    if record.log_dirs:
        return 2
    return 1 if record.in_controlled_shutdown else 0


def record_version(record: Message, metadata_version: int) -> int:
    """The version of a record under a finalised metadata.version."""
    if isinstance(record, PartitionRecord | PartitionChangeRecord):
        return partition_record_version(metadata_version)
    if isinstance(record, RegisterBrokerRecord):
        return register_broker_record_version(metadata_version)
    if isinstance(record, BrokerRegistrationChangeRecord):
        return registration_change_version(record)
    return 0
