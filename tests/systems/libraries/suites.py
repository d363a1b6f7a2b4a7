"""The suites that the packages of some libraries carry: how each is run, and which of its tests don't pass and why.

The tests are unmodified.
"""

from collections.abc import Mapping
from typing import NamedTuple

from systems.libraries.table import Registry


class Suite(NamedTuple):
    """One suite."""

    name: str
    version: str
    registry: Registry
    arguments: tuple[str, ...]
    """Of ``pytest``, ``go test`` or ``cargo test``."""
    variables: Mapping[str, str]
    """Of its environment; ``{servers}`` stands for the broker's address."""
    configs: Mapping[str, str] = {}
    """Of the broker."""
    failing: Mapping[str, str] = {}
    """Tests that do not pass at Odradek, each with the reason."""
    passing: int = 0
    """The least number of tests that pass."""


SUITES = [
    Suite(
        "github.com/twmb/franz-go",
        "v1.22.3",
        Registry.GO,
        ("github.com/twmb/franz-go/pkg/kgo",),
        {"KGO_TEST_RF": "1", "KGO_TEST_RECORDS": "20000", "KGO_LOG_LEVEL": "none", "KGO_SEEDS": "{servers}"},
        passing=152,
    ),
    Suite(
        "github.com/ThreeDotsLabs/watermill-kafka/v3",
        "v3.0.6",
        Registry.GO,
        ("-short", "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"),
        {"WATERMILL_TEST_KAFKA_BROKERS": "{servers}"},
        passing=6,
    ),
]
