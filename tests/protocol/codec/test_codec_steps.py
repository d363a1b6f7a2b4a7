"""Decoding, counting and encoding in steps have the results of the plain functions, for every message and version."""

import random
import tracemalloc
from collections.abc import Generator
from typing import Any, TypeVar

import pytest

from odradek.protocol.codec import Message, decode, element_counter, encode, step_decoder, step_encoder
from odradek.protocol.codec.steps import STEP_ELEMENTS
from odradek.protocol.errors import ProtocolError
from odradek.protocol.messages.groups import DescribeGroupsRequest, DescribeGroupsResponse, OffsetFetchRequest
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.protocol.messages.structure import Structure
from support.data.messages import every_version, random_message, seed_of, version_id
from support.each import each

SEED = 20261122
INSTANCES = 6
Result = TypeVar("Result")


def finish(steps: Generator[None, None, Result]) -> tuple[Result, int]:
    """Runs the generator to its end; returns its result, and the number of its steps."""
    count = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, count
        count += 1


def elements_of(value: Any) -> int:
    """The number of elements of all arrays and of unknown tagged fields in a decoded message."""
    if isinstance(value, list):
        return len(value) + sum(elements_of(one) for one in value if isinstance(one, Structure | Message))
    names = type(value).__slots__
    return sum(elements_of(getattr(value, n)) for n in names if isinstance(getattr(value, n), list | Structure))


def newest_versions() -> list[tuple[type[Message], int]]:
    """Each message in its newest version."""
    newest = dict(every_version())
    return list(newest.items())


@each(("cls", "version"), newest_versions(), ids=version_id)
def test_steps_and_plain_functions_agree(cls: type[Message], version: int) -> None:
    check_agreement(cls, version)


@pytest.mark.ci
@each(("cls", "version"), every_version(), ids=version_id)
def test_steps_and_plain_functions_agree_in_every_version(cls: type[Message], version: int) -> None:
    check_agreement(cls, version)
    check_refusals(cls, version)


def check_agreement(cls: type[Message], version: int) -> None:
    for instance in range(INSTANCES):
        seed = seed_of(SEED, cls.NAME, version, instance)
        replay = f"random_message({cls.NAME}, {version}, {seed})"
        message = random_message(cls, version, seed, unknown_tags=False)
        data = encode(message, version)
        (decoded, end), _ = finish(step_decoder(cls, version)(b"\xa5" + data, 1))
        assert (decoded, end) == (message, len(data) + 1), replay
        parts, _ = finish(step_encoder(cls, version)(message))
        assert b"".join(parts) == data, replay
        (elements, end), _ = finish(element_counter(cls, version)(data, 0, 1 << 40))
        assert end == len(data), replay
        assert elements >= elements_of(message), replay
        if elements:
            (stopped, _), _ = finish(element_counter(cls, version)(data, 0, elements - 1))
            assert stopped > elements - 1, replay


@each(("cls", "version"), newest_versions(), ids=version_id)
def test_malformed_bytes_are_refused_alike(cls: type[Message], version: int) -> None:
    check_refusals(cls, version)


def check_refusals(cls: type[Message], version: int) -> None:
    for instance in range(INSTANCES):
        seed = seed_of(SEED + 1, cls.NAME, version, instance)
        rng = random.Random(seed)
        data = bytearray(encode(random_message(cls, version, seed), version))
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(data) + 1)
            data[at : at + rng.choice((1, 4))] = rng.choice((b"\x7f\xff\xff\xff", b"\xff", b"\0", rng.randbytes(2)))
        replay = f"{cls.NAME} {version}: {bytes(data).hex()}"
        plain = outcome(lambda data=bytes(data): decode(cls, version, data))
        in_steps = outcome(lambda data=bytes(data): finish(step_decoder(cls, version)(data, 0))[0])
        assert in_steps == plain, replay
        finish(element_counter(cls, version)(bytes(data), 0, 1 << 40))  # must not raise an error


def outcome(decoding: Any) -> object:
    """The end position of a message, or the reason of its refusal."""
    try:
        return decoding()[1]
    except ProtocolError as error:
        return str(error)


def test_a_step_is_short() -> None:
    groups = [f"{number:x}" for number in range(10_000)]
    data = encode(DescribeGroupsRequest(groups), 5)
    (decoded, _), steps = finish(step_decoder(DescribeGroupsRequest, 5)(data, 0))
    assert decoded.groups == groups
    assert steps == 10_000 // STEP_ELEMENTS
    assert finish(element_counter(DescribeGroupsRequest, 5)(data, 0, 1 << 40)) == ((10_000, len(data)), steps)
    response = DescribeGroupsResponse(groups=[DescribeGroupsResponse.DescribedGroup(group_id=name) for name in groups])
    parts, steps = finish(step_encoder(DescribeGroupsResponse, 5)(response))
    assert steps == 10_000 // STEP_ELEMENTS
    assert max(map(len, parts)) < 4_096


def test_a_long_array_of_numbers_is_read_in_portions() -> None:
    topic = OffsetFetchRequest.OffsetFetchRequestTopic("t", list(range(100_000)))
    data = encode(OffsetFetchRequest("g", [topic]), 7)
    (decoded, _), steps = finish(step_decoder(OffsetFetchRequest, 7)(data, 0))
    assert decoded.topics == [topic]
    assert steps > 20


def test_tagged_fields_without_a_meaning_are_counted_and_skipped() -> None:
    message = ApiVersionsRequest("c", "1")
    message.unknown_tagged_fields = [(number, b"x") for number in range(1_000, 6_000)]
    data = encode(message, 3)
    (decoded, end), steps = finish(step_decoder(ApiVersionsRequest, 3)(data, 0))
    assert (decoded, end) == (ApiVersionsRequest("c", "1"), len(data))
    assert steps == 5_000 // STEP_ELEMENTS
    assert finish(element_counter(ApiVersionsRequest, 3)(data, 0, 1 << 40))[0] == (5_000, len(data))


def test_counting_takes_no_memory() -> None:
    data = encode(DescribeGroupsRequest(["abc"] * 50_000), 5)
    count = element_counter(DescribeGroupsRequest, 5)
    tracemalloc.start()
    try:
        finish(count(data, 0, 1 << 40))
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()
