"""What a producer guarantees about the delivery of its records, and for how long it tries.

Pure. Owns: which of these settings fit together. Source: ``ProducerConfig.postProcessAndValidateIdempotenceConfigs``.
"""

from typing import NamedTuple

from ..errors import ConfigurationError

ACKS = {"all": -1, "-1": -1, "1": 1, "0": 0, -1: -1, 1: 1, 0: 0}
MAX_IN_FLIGHT_IN_ORDER = 5
"""The most requests in flight to a broker with which it can still check sequence numbers."""


class Delivery(NamedTuple):
    """The producer's settings for delivery, after their check. Times are in ms."""

    acks: int
    """As in Produce requests: -1 is all."""
    retries: int
    max_in_flight: int
    """The most requests in flight to a broker, and batches of a partition."""
    timeout_ms: float
    is_idempotent: bool
    is_transactional: bool = False


def delivery(
    acks: str | int,
    retries: int,
    max_in_flight: int,
    timeout_ms: float,
    enable_idempotence: bool | None,
    transactional_id: str | None,
) -> Delivery:
    """Checks the settings, which have the names of the producer's arguments. Raises ConfigurationError."""
    if acks not in ACKS:
        raise ConfigurationError(f"acks is {acks!r}; it can be 'all', 1 or 0")
    is_transactional = transactional_id is not None
    needs_idempotence = enable_idempotence or is_transactional
    reason = "enable_idempotence" if enable_idempotence else "transactional_id"
    if is_transactional and enable_idempotence is False:
        raise ConfigurationError("transactional_id needs enable_idempotence")
    if needs_idempotence and ACKS[acks] != -1:
        raise ConfigurationError(f"{reason} needs acks='all'")
    if needs_idempotence and max_in_flight > MAX_IN_FLIGHT_IN_ORDER:
        raise ConfigurationError(f"{reason} needs max_in_flight_requests_per_connection of at most 5")
    if retries < 0:
        raise ConfigurationError(f"retries is {retries}; it must be at least 0")
    if needs_idempotence and not retries:
        raise ConfigurationError(f"{reason} needs retries of at least 1")
    possible = ACKS[acks] == -1 and max_in_flight <= MAX_IN_FLIGHT_IN_ORDER and retries > 0
    is_idempotent = possible if enable_idempotence is None else enable_idempotence
    return Delivery(ACKS[acks], retries, max_in_flight, timeout_ms, is_idempotent, is_transactional)
