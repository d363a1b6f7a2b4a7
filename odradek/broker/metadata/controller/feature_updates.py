"""Changes the finalised levels of features. Pure: a request goes in, records come out.

Source: ``FeatureControlManager``, ``ConfigurationControlManager.updateFeatures``; KIP-584, KIP-1022. The texts of
errors are Kafka's: its tools show them.
"""

from collections.abc import Mapping

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.java.hash import in_hash_map_order
from odradek.protocol.messages.metadata_records import ConfigRecord, FeatureLevelRecord
from odradek.protocol.messages.quorum import UpdateFeaturesRequest, UpdateFeaturesResponse
from odradek.protocol.messages.structure import Message

from ..image.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    ELR_SUPPORTED,
    KRAFT_VERSION,
    METADATA_CHANGED_AT,
    METADATA_VERSION,
    SUPPORTED_FEATURES,
)
from ..image.image import MetadataImage, ResourceType
from ..publisher.decision import Decision
from .controller import Controller

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
"""``FeatureUpdate.UpgradeType``."""
RESULTS_UNTIL = 1
"""The last version whose answer names each feature."""
MIN_INSYNC_REPLICAS = "min.insync.replicas"
FAILED = "The update failed for all features since the following feature had an error: "
NOT_SUPPORTED = (0, 0)
"""The levels of a feature that a node does not know."""


def update_features(
    image: MetadataImage, controller: Controller, kraft_version: int, request: UpdateFeaturesRequest, version: int
) -> Steps[Decision[UpdateFeaturesResponse]]:
    """Changes all features of the request, or none. ``kraft_version``: its finalised level, of which the
    image has nothing.

    If a feature is named twice, the last entry counts. They are checked in the order of Kafka's hash map, since the
    answer has the first error.
    """
    updates = {update.feature: update for update in request.feature_updates}
    proposed = image.features | {name: update.max_version_level for name, update in updates.items()}
    records: list[Message] = []
    try:
        for name in in_hash_map_order(updates):
            update = updates[name]
            records += _records(image, controller.node_id, kraft_version, update, proposed)
    except KafkaError as error:
        return Decision(UpdateFeaturesResponse(error_code=error.error_code, error_message=FAILED + error.message))
    response = UpdateFeaturesResponse()
    if version <= RESULTS_UNTIL:
        response.results = [
            UpdateFeaturesResponse.UpdatableFeatureResult(update.feature, error_message=ErrorCode.NONE.name)
            for update in request.feature_updates
        ]
    elr = updates.get(ELIGIBLE_LEADER_REPLICAS_VERSION)
    if elr is not None and elr.max_version_level > 0:
        records = [*_elr_safety_records(image, controller), *records]
    yield
    return Decision(response, [] if request.validate_only else records)


def _records(
    image: MetadataImage,
    node_id: int,
    kraft_version: int,
    update: UpdateFeaturesRequest.FeatureUpdateKey,
    proposed: Mapping[str, int],
) -> list[Message]:
    """The records of one feature. ``proposed``: the levels of all features after the request. Raises KafkaError."""
    name, level = update.feature, update.max_version_level
    current = kraft_version if name == KRAFT_VERSION else image.features.get(name, 0)
    problem = _problem(image, node_id, current, update, proposed)
    if problem is not None:
        message = f"Invalid update version {level} for feature {name}. {problem}"
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, message)
    if name == KRAFT_VERSION:
        return []
    if name == METADATA_VERSION:
        _refuse_lossy_downgrade(current, level, update.upgrade_type)
    return [FeatureLevelRecord(name, level)]


def _problem(
    image: MetadataImage,
    node_id: int,
    current: int,
    update: UpdateFeaturesRequest.FeatureUpdateKey,
    proposed: Mapping[str, int],
) -> str | None:
    """Why the level of a feature can't be changed; None if it can. ``current``: its level before."""
    name, level, upgrade_type = update.feature, update.max_version_level, update.upgrade_type
    if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return "The controller does not support the given upgrade type."
    if level < 0:
        return "A feature version cannot be less than 0."
    unsupported = _why_not_supported(image, node_id, name, level)
    if unsupported is not None:
        return unsupported
    if level < current and upgrade_type == UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade."
        )
    if level > current and upgrade_type != UPGRADE:
        return "Can't downgrade to a newer version."
    if name not in SUPPORTED_FEATURES:
        return f"Feature {name} not found."
    if name == KRAFT_VERSION and level < current:
        return "Can't downgrade the version of this feature."
    if name == KRAFT_VERSION and level > current:
        return "This broker keeps its voter in its configuration, and can't write it into an existing log."
    metadata_version = proposed.get(METADATA_VERSION, 0)
    if name == ELIGIBLE_LEADER_REPLICAS_VERSION and level and metadata_version < ELR_SUPPORTED:
        return f"{name} could not be set to {level} because it depends on {METADATA_VERSION} level {ELR_SUPPORTED}"
    return None


def _why_not_supported(image: MetadataImage, node_id: int, name: str, level: int) -> str | None:
    """Why this broker, or another one that is registered, does not support a level; None if all do."""
    nodes = [(f"Local controller {node_id}", SUPPORTED_FEATURES)]
    nodes += [(f"Broker {broker.broker_id}", dict(broker.features)) for broker in image.brokers.values()]
    for node, features in nodes:
        lowest, highest = features.get(name, NOT_SUPPORTED)
        if lowest <= level <= highest:
            continue
        if highest == 0:
            return f"{node} does not support this feature."
        return f"{node} only supports versions {lowest}-{highest}"
    return None


def _refuse_lossy_downgrade(current: int, level: int, upgrade_type: int) -> None:
    """Raises KafkaError if a lower metadata.version has no place for records of the current one."""
    if not any(changed in METADATA_CHANGED_AT for changed in range(level + 1, current + 1)):
        return
    reason = "Refusing to perform the requested downgrade because it might delete metadata information."
    if upgrade_type == UNSAFE_DOWNGRADE:
        reason = "Unsafe metadata downgrade is not supported in this version."
    message = f"Unsupported metadata.version downgrade from {current} to {level}. {reason}"
    raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, message)


def _elr_safety_records(image: MetadataImage, controller: Controller) -> list[Message]:
    """The records that make ``min.insync.replicas`` a config of the whole cluster (KIP-966): the brokers' own ones
    could differ, and a controller could then choose replicas by the wrong one.
    """
    records: list[Message] = []
    if MIN_INSYNC_REPLICAS not in image.config_of(ResourceType.BROKER, ""):
        minimum = str(controller.config.get_int(MIN_INSYNC_REPLICAS))
        records.append(ConfigRecord(ResourceType.BROKER, "", MIN_INSYNC_REPLICAS, minimum))
    records += [
        ConfigRecord(kind, name, MIN_INSYNC_REPLICAS, None)
        for (kind, name), configs in image.configs.items()
        if kind == ResourceType.BROKER and name and MIN_INSYNC_REPLICAS in configs
    ]
    return records
