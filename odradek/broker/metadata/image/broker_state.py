"""The states of a broker. Source: ``BrokerState`` of Kafka's metadata package, whose names and numbers these are."""

from enum import Enum


class BrokerState(Enum):
    """Kafka's names and numbers."""

    STARTING = 1
    """Not registered yet."""
    RECOVERY = 2
    """Registered and fenced: it catches up, and opens its logs."""
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    """It has asked the controllers to move its leaderships."""
    SHUTTING_DOWN = 7
