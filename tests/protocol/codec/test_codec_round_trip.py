"""Seeded round trips: a decoded message equals the encoded one, for every version, with known and unknown tags."""

import pytest

from odradek.protocol.codec import Message, decode, encode, encode_parts
from support.data.messages import every_version, random_message, seed_of, version_id
from support.each import each

SEED = 20261121
INSTANCES, INSTANCES_CI, INSTANCES_LONG = 8, 24, 2000


def check_round_trips(cls: type[Message], version: int, instances: int, run_seed: int) -> None:
    for instance in range(instances):
        seed = seed_of(run_seed, cls.NAME, version, instance)
        message = random_message(cls, version, seed)
        replay = f"random_message({cls.NAME}, {version}, {seed})"
        data = encode(message, version)
        padded = b"\xa5\xa5" + data + b"\x5a"
        assert decode(cls, version, padded, 2) == (message, len(padded) - 1), replay
        assert decode(cls, version, memoryview(data)) == (message, len(data)), replay
        assert b"".join(encode_parts(message, version)) == data, replay


@each(("cls", "version"), every_version(), ids=version_id)
def test_round_trips(cls: type[Message], version: int) -> None:
    check_round_trips(cls, version, INSTANCES, SEED)


@pytest.mark.ci
@each(("cls", "version"), every_version(), ids=version_id)
def test_more_round_trips(cls: type[Message], version: int) -> None:
    check_round_trips(cls, version, INSTANCES_CI, SEED)


@pytest.mark.long
@pytest.mark.parametrize(("cls", "version"), every_version(), ids=version_id)
def test_many_round_trips(cls: type[Message], version: int) -> None:
    check_round_trips(cls, version, INSTANCES_LONG, SEED + 1)


def test_a_seed_makes_the_same_message_again() -> None:
    for cls, version in every_version():
        assert random_message(cls, version, 5) == random_message(cls, version, 5)
