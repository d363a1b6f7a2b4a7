"""The consumer's group settings, for both protocols. Times are in ms.

Pure. Source: ``org.apache.kafka.clients.consumer.ConsumerConfig``, KIP-848 (settings that moved to the broker).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import ConfigurationError
from .assignors import ASSIGNOR_NAMES, COOPERATIVE

DEFAULT_STRATEGIES = ("range", "cooperative-sticky")
DEFAULT_SESSION_TIMEOUT_MS = 45_000
DEFAULT_HEARTBEAT_INTERVAL_MS = 3_000


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """The group settings of a consumer, named as Kafka's keys."""

    group_id: str
    group_instance_id: str | None
    max_poll_interval_ms: int
    rack_id: str | None
    uses_consumer_protocol: bool
    session_timeout_ms: int = DEFAULT_SESSION_TIMEOUT_MS
    """Used by the classic protocol only, like the next two."""
    heartbeat_interval_ms: int = DEFAULT_HEARTBEAT_INTERVAL_MS
    strategies: tuple[str, ...] = DEFAULT_STRATEGIES
    remote_assignor: str | None = None
    """Used by the consumer protocol only: ``uniform`` or ``range``. None is the broker's default."""

    @property
    def is_cooperative(self) -> bool:
        """Whether members keep their partitions during a rebalance. All assignors must support it (KIP-429)."""
        return all(strategy in COOPERATIVE for strategy in self.strategies)


class ClassicSettings(NamedTuple):
    """The consumer's arguments that only the classic protocol has; None: not given."""

    session_timeout_ms: int | None
    heartbeat_interval_ms: int | None
    partition_assignment_strategy: Sequence[str] | None


def group_config(
    group_id: str | None,
    *,
    group_protocol: str,
    group_instance_id: str | None,
    classic: ClassicSettings,
    max_poll_interval_ms: int,
    remote_assignor: str | None,
    rack_id: str | None,
) -> GroupConfig | None:
    """Checks the settings. Returns None if there is neither a group nor an error. Raises ConfigurationError."""
    if group_protocol not in ("classic", "consumer"):
        raise ConfigurationError(f"group_protocol is {group_protocol!r}; it can be classic, consumer")
    if group_protocol == "consumer":
        for name, value in classic._asdict().items():
            if value is not None:
                raise ConfigurationError(f"{name} cannot be set when group_protocol is consumer: the broker decides it")
    elif remote_assignor is not None:
        raise ConfigurationError("group_remote_assignor cannot be set when group_protocol is classic")
    if group_id is None:
        if group_instance_id is not None:
            raise ConfigurationError("group_instance_id needs a group_id")
        return None
    session_ms, heartbeat_ms, strategies = classic
    config = GroupConfig(
        group_id=group_id,
        group_instance_id=group_instance_id,
        max_poll_interval_ms=max_poll_interval_ms,
        rack_id=rack_id,
        uses_consumer_protocol=group_protocol == "consumer",
        session_timeout_ms=DEFAULT_SESSION_TIMEOUT_MS if session_ms is None else session_ms,
        heartbeat_interval_ms=DEFAULT_HEARTBEAT_INTERVAL_MS if heartbeat_ms is None else heartbeat_ms,
        strategies=DEFAULT_STRATEGIES if strategies is None else tuple(strategies),
        remote_assignor=remote_assignor,
    )
    if config.heartbeat_interval_ms >= config.session_timeout_ms:
        raise ConfigurationError("heartbeat_interval_ms must be lower than session_timeout_ms")
    unknown = [strategy for strategy in config.strategies if strategy not in ASSIGNOR_NAMES]
    if unknown or not config.strategies:
        raise ConfigurationError(
            f"partition_assignment_strategy has {unknown}; it can have {', '.join(ASSIGNOR_NAMES)}"
        )
    return config
