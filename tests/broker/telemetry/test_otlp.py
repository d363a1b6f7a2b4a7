"""A push is read or refused: any bytes end in points or in an OtlpError, in bounded steps."""

import random

import pytest

from odradek.broker.telemetry.otlp import FIELDS_OF_POINT_MAX, OtlpError, Point, points
from support.data.otlp import attributes, counter, gauge, message, number, push

NO_POINT = message(2, message(1, b"x") + message(5, message(1, attributes(7, (("a", "b"),)))))


def read(data: bytes) -> list[Point]:
    return [point for point in points(data) if point is not None]


def test_gauges_and_counters() -> None:
    client = (("group_id", "g"), ("client_rack", "r"))
    data = push(
        gauge("a", {(): 1.5, (("topic", "t"), ("partition", "1")): -2}),
        counter("b", {(): 3}),
        counter("c", {(): 4.0}, is_delta=False),
        counter("d", {(): 5}, is_monotonic=False),
        client=client,
    )
    assert read(data) == [
        Point("a", (), client, 1.5, False, False),
        Point("a", (("topic", "t"), ("partition", "1")), client, -2.0, False, False),
        Point("b", (), client, 3.0, True, True),
        Point("c", (), client, 4.0, True, False),
        Point("d", (), client, 5.0, False, True),
    ]


def test_kinds_of_attributes() -> None:
    kinds = {
        message(1, b"text"): "text",
        number(2, 1): "true",
        number(2, 0): "false",
        number(3, 7): "7",
        number(3, (1 << 64) - 7): "-7",
        b"\x21" + bytes(6) + b"\xf0\x3f": "1.0",
        message(5, b""): "",
    }
    encoded = b"".join(message(7, message(1, b"a") + message(2, kind)) for kind in kinds)
    point = message(1, encoded + b"\x31" + bytes(8))
    (found,) = read(push(message(2, message(1, b"x") + message(5, point))))
    assert [value for _, value in found.attributes] == list(kinds.values())


@pytest.mark.parametrize(
    "metric",
    [
        NO_POINT,
        message(2, message(1, b"x") + message(5, message(1, number(8, 1) + b"\x31" + bytes(8)))),  # no recorded value
        message(2, message(1, b"histogram") + message(9, message(1, b"\x21" + bytes(8)))),
        message(2, message(1, b"x") + message(5, number(1, 7))),
    ],
)
def test_what_has_no_point(metric: bytes) -> None:
    assert read(push(metric, gauge("y", {(): 1.0}))) == [Point("y", (), (), 1.0, False, False)]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\0", "field number 0"),
        (b"\x0b", "wire type 3"),
        (b"\x0a\x05ab", "ends after its message"),
        (b"\x09\0", "ends after its message"),
        (b"\x80", "cut off"),
        (b"\xff" * 10 + b"\1", "too long"),
        (push(message(2, message(1, b"\xff"))), "not UTF-8"),
        (push(gauge("x", {tuple((str(n), "v") for n in range(FIELDS_OF_POINT_MAX)): 1.0})), "more than"),
        (push(client=tuple((str(n), "v") for n in range(FIELDS_OF_POINT_MAX))), "more than"),
    ],
)
def test_what_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(OtlpError, match=problem):
        read(data)


@pytest.mark.parametrize(
    "data",
    [
        number(2, 1) * 10_000,
        message(1, number(9, 1) * 10_000),
        message(1, message(2, number(9, 1) * 10_000)),
        push(message(2, number(9, 1) * 10_000)),
        push(message(2, message(5, number(9, 1) * 10_000))),
        push(message(2, message(7, number(9, 1) * 10_000))),
        push(message(2, message(7, message(1, b"") * 10_000))),
        push(*[message(2, b"")] * 10_000),
        message(1, b"") * 10_000,
    ],
)
def test_each_step_is_short(data: bytes) -> None:
    """Whatever the fields are: there is a pause after some hundred of them."""
    pauses = sum(point is None for point in points(data))
    assert pauses >= 10_000 // 256 - 1


def test_mutated_pushes_end_in_points_or_an_error() -> None:
    seed = random.randrange(1 << 32)
    print(f"replay with random.Random({seed})")
    rng = random.Random(seed)
    good = push(
        gauge("org.apache.kafka.a", {(("topic", "t"),): 1.5, (): 2}), counter("b", {(): 3}), client=(("group_id", "g"),)
    )
    read_or_refused: set[bool | None] = set()
    for _ in range(3_000):
        data = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        data = data[: rng.choice((len(data), rng.randrange(len(data))))]
        try:
            read_or_refused.add(bool(read(bytes(data))))
        except OtlpError:
            read_or_refused.add(None)
    assert None in read_or_refused
