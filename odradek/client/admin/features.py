"""The admin client's part for features. Source: ``Admin.describeFeatures``, ``Admin.updateFeatures``; KIP-584."""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from odradek.protocol.exchange import SOFTWARE_NAME, SOFTWARE_VERSION
from odradek.protocol.messages.metadata import ApiVersionsRequest, ApiVersionsResponse
from odradek.protocol.messages.quorum import UpdateFeaturesRequest, UpdateFeaturesResponse

from ..errors import broker_error
from .base import AdminBase


class UpgradeType(IntEnum):
    """Which change of a feature's level is allowed. UNSAFE_DOWNGRADE may lose metadata."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureDescription(NamedTuple):
    """``supported``: feature -> lowest and highest level; ``finalized``: feature -> level; ``epoch``: -1 if unknown."""

    supported: dict[str, tuple[int, int]]
    finalized: dict[str, int]
    epoch: int


class FeatureResult(NamedTuple):
    """The outcome for one feature; ``error_code`` 0 if it was changed."""

    error_code: int
    error_message: str | None


class FeatureAdmin(AdminBase):
    """Calls about features; part of Admin."""

    async def describe_features(self, node_id: int | None = None) -> FeatureDescription:
        """The features of this node, or of any node if ``node_id`` is None. Raises KafkaError."""
        connection = await self._node_or_any(node_id)
        request = ApiVersionsRequest(SOFTWARE_NAME, SOFTWARE_VERSION)
        response = await connection.call(request, ApiVersionsResponse)
        if response.error_code:
            raise broker_error(response.error_code, "ApiVersions")
        return FeatureDescription(
            {feature.name: (feature.min_version, feature.max_version) for feature in response.supported_features},
            {feature.name: feature.max_version_level for feature in response.finalized_features},
            response.finalized_features_epoch,
        )

    async def update_features(
        self, levels: Mapping[str, int], upgrade_type: UpgradeType, *, validate_only: bool = False
    ) -> dict[str, FeatureResult]:
        """Changes the levels of features and returns the outcome of each.

        If the whole request fails, every feature gets its error.
        """
        request = UpdateFeaturesRequest(
            timeout_ms=int(self._timeout_ms),
            feature_updates=[
                UpdateFeaturesRequest.FeatureUpdateKey(name, level, upgrade_type=upgrade_type)
                for name, level in levels.items()
            ],
            validate_only=validate_only,
        )
        response = await self._controller_call(request, UpdateFeaturesResponse)
        common = FeatureResult(response.error_code, response.error_message)
        if response.error_code:
            return dict.fromkeys(levels, common)
        single = {result.feature: FeatureResult(result.error_code, result.error_message) for result in response.results}
        return {name: single.get(name, common) for name in levels}
