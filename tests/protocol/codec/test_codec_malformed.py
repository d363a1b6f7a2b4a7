"""Malformed bytes: truncated, oversized, mutated and random input gives ProtocolError, for every message and version.

No other error may be raised. However large a length says it is, no loop may be long and no allocation large.
"""

import random
import tracemalloc

import pytest

from odradek.protocol.codec import Message, decode, encode
from odradek.protocol.errors import ProtocolError
from support.data.messages import every_version, random_message, seed_of, version_id
from support.each import each

SEED = 7
MUTATIONS, MUTATIONS_CI, MUTATIONS_LONG = 15, 60, 1500
MAX_ALLOCATION_BYTES = 2_000_000
"""Enough for objects of a few thousand input bytes, and far less than the memory for a false count."""


def refusal(cls: type[Message], version: int, data: bytes) -> ProtocolError | None:
    """The ProtocolError for these bytes, or None if they are accepted. Any other exception ends the test."""
    try:
        _, end = decode(cls, version, data)
    except ProtocolError as error:
        return error
    assert end <= len(data)
    return None


@each(("cls", "version"), every_version(), ids=version_id)
def test_every_truncation_is_refused(cls: type[Message], version: int) -> None:
    check_truncations(cls, version, range(1))


@pytest.mark.ci
@each(("cls", "version"), every_version(), ids=version_id)
def test_every_truncation_of_more_is_refused(cls: type[Message], version: int) -> None:
    check_truncations(cls, version, range(1, 3))


def check_truncations(cls: type[Message], version: int, instances: range) -> None:
    for instance in instances:
        seed = seed_of(SEED, cls.NAME, version, instance)
        data = encode(random_message(cls, version, seed), version)
        # For a long message, every prefix at its start and a sample of the others.
        lengths = [*range(min(len(data), 300)), *range(300, len(data), max(1, len(data) // 100))]
        for length in lengths:
            error = refusal(cls, version, data[:length])
            replay = f"the first {length} bytes of random_message({cls.NAME}, {version}, {seed})"
            assert error is not None, f"{replay} were taken"
            assert error.what, replay
            assert error.where, replay


def mutate(rng: random.Random, data: bytes) -> bytes:
    """Makes one to four changes: another byte, a huge or negative length, removed or inserted bytes."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(5):
            case 0:
                out[at : at + 1] = rng.randbytes(1)
            case 1:
                out[at : at + 4] = rng.choice(
                    (b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff\xff\xff\xff", b"\0\0\xff\xff")
                )
            case 2:
                out[at : at + 2] = rng.choice((b"\x7f\xff", b"\x80\0", b"\xff\xff"))
            case 3:
                out[at : at + rng.randint(0, 5)] = b"\xff" * rng.randint(1, 12)
            case _:
                out[at : at + rng.randint(0, 8)] = rng.randbytes(rng.randint(0, 8))
    return bytes(out)


def check_mutations(cls: type[Message], version: int, mutations: int) -> None:
    rng = random.Random(seed_of(SEED, cls.NAME, version))
    for _ in range(mutations):
        data = mutate(rng, encode(random_message(cls, version, rng.getrandbits(32)), version))
        refusal(cls, version, data)
        refusal(cls, version, rng.randbytes(rng.randint(0, 64)))


@each(("cls", "version"), every_version(), ids=version_id)
def test_mutated_and_random_bytes_give_protocol_errors_only(cls: type[Message], version: int) -> None:
    check_mutations(cls, version, MUTATIONS)


@pytest.mark.ci
@each(("cls", "version"), every_version(), ids=version_id)
def test_more_mutated_bytes(cls: type[Message], version: int) -> None:
    check_mutations(cls, version, MUTATIONS_CI)


@pytest.mark.long
@pytest.mark.parametrize(("cls", "version"), every_version(), ids=version_id)
def test_many_mutated_bytes(cls: type[Message], version: int) -> None:
    check_mutations(cls, version, MUTATIONS_LONG)


@pytest.mark.parametrize("fill", [b"\xff", b"\x7f", b"\x80", b"\x00", b"\x01"], ids=bytes.hex)
def test_no_length_is_believed(fill: bytes) -> None:
    """Inputs of one repeated byte, with the largest possible lengths, counts and varints."""
    data = fill * 2000
    for cls, version in every_version():
        refusal(cls, version, data)  # compiles the decoder, which is not measured
        tracemalloc.start()
        refusal(cls, version, data)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < MAX_ALLOCATION_BYTES, f"{cls.NAME} v{version} allocated {peak} bytes for {len(data)}"
