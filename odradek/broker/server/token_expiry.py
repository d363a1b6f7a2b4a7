"""Removes expired delegation tokens.

Shell. Never does: deciding which token has expired. Source: ``QuorumController.sweepExpiredDelegationTokens``.
"""

import logging
from collections.abc import Callable

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.structure import Message

from ..timers.loop_timers import LoopTimers
from .broker import Broker

with lazy_imports:
    from ..metadata.controller import delegation_tokens

logger = logging.getLogger(__name__)

INTERVAL_KEY = "delegation.token.expiry.check.interval.ms"


def remove_expired_tokens(broker: Broker, timers: LoopTimers, clock_ms: Callable[[], int]) -> None:
    """Removes expired tokens at a regular interval (:data:`INTERVAL_KEY`), if this broker is its own controller.

    ``clock_ms``: wall clock, milliseconds since the epoch.
    """
    if broker.token_hmacs is None or broker.is_cluster_member:
        return
    metadata = broker.own_metadata
    interval_ms = broker.static_config.get_int(INTERVAL_KEY)

    def expired() -> list[Message]:
        found = delegation_tokens.expired_tokens(metadata.image, clock_ms())
        if found:
            logger.info("removing %d expired delegation tokens", len(found))
        return found

    def failed(error: KafkaError) -> None:
        logger.error("could not remove expired delegation tokens: %s", error)

    def check() -> None:
        timers.schedule(interval_ms, check)
        metadata.record(expired, clock_ms(), failed)

    timers.schedule(interval_ms, check)
