"""A group is in the same partition as in Kafka, and names are in the order of Java's hash maps."""

import pytest

from odradek.broker.coordinator.partitioning import partition_for
from odradek.protocol.java.hash import in_hash_map_order, java_hash_code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("a", 97),
        ("spurs", 109657593),
        ("polygenelubricants", -(2**31)),
        ("grüße", 98768023),
        # A character outside the Basic Multilingual Plane is two UTF-16 units.
        ("\U0001f600", 0xD83D * 31 + 0xDE00),
    ],
)
def test_java_hash_code(text: str, code: int) -> None:
    assert java_hash_code(text) == code


def test_partition_of_a_group() -> None:
    assert partition_for("spurs", 50) == 43
    # Integer.MIN_VALUE has no absolute value: Kafka uses 0.
    assert partition_for("polygenelubricants", 50) == 0
    assert partition_for("", 50) == 0


def test_hash_map_order() -> None:
    assert in_hash_map_order(["roundrobin", "range"]) == ["range", "roundrobin"]
    assert in_hash_map_order(["b", "a"]) == ["a", "b"]
    many = [f"name-{index}" for index in range(40)]
    assert sorted(in_hash_map_order(many)) == sorted(many)
