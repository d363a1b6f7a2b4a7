"""Construction of message classes: the first objects of a class and the later ones get the same fields."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from inspect import signature
from typing import Any

import pytest

from odradek.protocol.messages import FAMILIES, message_class
from odradek.protocol.messages.fetch import FetchResponse
from odradek.protocol.messages.structure import FEW, NEW_LIST, NEW_NULLABLE_LIST, NEW_STRUCTURE, Message, Structure

ALL = range(FEW + 2)
"""Constructing so many objects goes both ways: without an ``__init__`` of the class, and with it."""


def new_class() -> Any:
    """A class that has constructed nothing yet."""

    class Lists(Structure):
        name: str = "unknown"
        numbers: list[int] = NEW_LIST
        nullable: list[int] | None = NEW_NULLABLE_LIST

    return Lists


class Whole(Message):
    """Structures in each form."""

    class Part(Structure):
        """A structure with one field."""

        number: int = 7

    part: Whole.Part = NEW_STRUCTURE
    nullable: Whole.Part | None = NEW_STRUCTURE
    absent: Whole.Part | None = None


@pytest.mark.parametrize(
    ("values", "named", "expected"),
    [
        ((), {}, ("unknown", [], [])),
        (("x", [1], [2]), {}, ("x", [1], [2])),
        (("x",), {"nullable": None}, ("x", [], None)),
        ((), {"numbers": None, "name": ""}, ("", [], [])),
    ],
)
def test_first_and_later_objects_have_the_same_fields(
    values: tuple[object, ...], named: dict[str, object], expected: tuple[object, ...]
) -> None:
    cls = new_class()
    made = [cls(*values, **named) for _ in ALL]
    assert [(each.name, each.numbers, each.nullable) for each in made] == [expected] * len(made)
    assert [each.unknown_tagged_fields for each in made] == [None] * len(made)
    assert made[0] == made[-1]


def test_each_object_has_lists_and_structures_of_its_own() -> None:
    cls = new_class()
    made = [cls() for _ in ALL]
    assert len({id(values) for each in made for values in (each.numbers, each.nullable)}) == 2 * len(made)
    wholes = [Whole() for _ in ALL]
    assert len({id(part) for whole in wholes for part in (whole.part, whole.nullable)}) == 2 * len(wholes)
    assert {(whole.part.number, whole.absent) for whole in wholes} == {(7, None)}
    assert Whole(Whole.Part(1), None) == Whole(part=Whole.Part(1), nullable=None, absent=None) != Whole(Whole.Part(1))


@pytest.mark.parametrize("times", [0, FEW])
@pytest.mark.parametrize(
    ("values", "named", "error"),
    [
        (("x", [], [], 1), {}, "takes from 1 to 4 positional arguments but 5 were given"),
        ((), {"other": 1}, "got an unexpected keyword argument 'other'"),
        (("x",), {"name": "y"}, "got multiple values for argument 'name'"),
    ],
)
def test_wrong_arguments(times: int, values: tuple[object, ...], named: dict[str, object], error: str) -> None:
    cls = new_class()
    for _ in range(times):
        cls()
    with pytest.raises(TypeError, match=error):
        cls(*values, **named)
    assert cls("x").name == "x"


def test_the_parameters_are_the_fields() -> None:
    cls = new_class()
    for _ in ALL:
        cls()
    assert str(signature(cls)) == "(name='unknown', numbers=None, nullable=[])"
    assert cls.__init__.__qualname__ == f"{cls.__qualname__}.__init__"


def test_objects_are_copied_and_pickled() -> None:
    data = FetchResponse.PartitionData(3, records=b"abc")
    data.unknown_tagged_fields = [(7, b"x")]
    response = FetchResponse(1, responses=[FetchResponse.FetchableTopicResponse("t", partitions=[data])])
    for same in (copy.copy(response), copy.deepcopy(response), pickle.loads(pickle.dumps(response))):
        assert same == response
        assert repr(same) == repr(response)
    assert copy.copy(response).responses is response.responses
    with pytest.raises(TypeError, match="unhashable"):
        hash(response)
    with pytest.raises(AttributeError):
        response.unknown = 1  # type: ignore[attr-defined]


def test_every_class_constructs_the_same_both_ways() -> None:
    for name in FAMILIES:
        for cls in _with_structures(message_class(name)):
            made = [cls() for _ in ALL]
            assert made == made[:1] * len(made)
            assert "__init__" in vars(cls)


def _with_structures(cls: type[Structure]) -> Iterator[type[Structure]]:
    yield cls
    for value in list(vars(cls).values()):
        if isinstance(value, type) and issubclass(value, Structure):
            yield value
