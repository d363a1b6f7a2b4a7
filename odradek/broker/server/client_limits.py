"""The quotas of clients in a running broker. Without quotas in the metadata, nothing is imported for them.

Owns: the moment at which quotas are first enforced. Never does: enforcing (:mod:`.quota_enforcement`). Source:
``DynamicClientQuotaPublisher``.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports

from ..dispatch.dispatch import Dispatcher
from ..metadata.image.image import ClientQuotaEntity, MetadataImage
from .broker import Broker

with lazy_imports:
    from . import quota_enforcement

if TYPE_CHECKING:
    from .quota_enforcement import QuotaEnforcement


class ClientLimits:
    """The quotas in force."""

    def __init__(self, broker: Broker, dispatcher: Dispatcher) -> None:
        """Nothing is limited before there are quotas."""
        self._broker = broker
        self._dispatcher = dispatcher
        self.enforcement: QuotaEnforcement | None = None
        """None before there are quotas."""

    def start(self, image: MetadataImage) -> None:
        """Enforces the quotas of the image, before connections are accepted."""
        if image.client_quotas:
            self.update(image.client_quotas, image.client_quotas)

    def update(
        self,
        quotas: Mapping[ClientQuotaEntity, Mapping[str, float]],
        changed: Collection[ClientQuotaEntity],
    ) -> None:
        """Applies the quotas of the ``changed`` entities. ``quotas``: all quotas of the metadata."""
        if self.enforcement is None:
            broker = self._broker
            self.enforcement = quota_enforcement.QuotaEnforcement(
                broker.config, self._dispatcher, broker.connections.quotas, broker.timers
            )
        self.enforcement.update(quotas, changed)
