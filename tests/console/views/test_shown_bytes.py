"""Keys, values and headers as they are shown. No broker."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.console.views.shown_bytes import indented_json, outlined, shown


def test_null_empty_and_text_differ() -> None:
    found: list[Any] = [shown(data, 100) for data in (None, b"", b"null")]
    assert [(one["isNull"], one["size"], one["text"]) for one in found] == [
        (True, "0", None),
        (False, "0", ""),
        (False, "4", "null"),
    ]


def test_bytes_that_are_no_text_have_hex_only() -> None:
    found: Any = shown(b"\xff\x00a", 100)
    assert (found["text"], found["json"], found["hex"]) == (None, None, "ff 00 61")


def test_a_cut_inside_a_character_leaves_the_character_out() -> None:
    found: Any = shown("aé".encode(), 2)
    assert (found["text"], found["isCut"], found["size"], found["hex"]) == ("a", True, "3", "61 c3")


def test_bytes_that_break_off_without_a_cut_are_no_text() -> None:
    found: Any = shown("aé".encode()[:2], 2)
    assert found["text"] is None


def test_a_cut_value_is_not_read_as_json() -> None:
    found: Any = shown(b"[1,2,3]    ", 7)
    assert found["json"] is None


def test_a_row_has_a_short_part() -> None:
    found: Any = outlined(b"x" * 1_000_000)
    assert (len(found["text"]), found["size"], found["isCut"]) == (512, "1000000", True)


def test_numbers_keep_all_their_digits_and_keys_their_repetition() -> None:
    text = '{"id":90071992547409931,"x":1.10,"x":1e400,"list":[],"of":{ }}'
    assert indented_json(text) == (
        '{\n  "id": 90071992547409931,\n  "x": 1.10,\n  "x": 1e400,\n  "list": [],\n  "of": {}\n}'
    )


@pytest.mark.parametrize("text", ["12", '"a"', "null", "{", "[1,]", "", "   ", "[" * 100_000])
def test_what_is_no_object_or_array_is_not_shown_as_json(text: str) -> None:
    assert indented_json(text) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(value=st.lists(VALUES) | st.dictionaries(st.text(), VALUES), indent=st.sampled_from([None, 1, "\t"]))
def test_indenting_changes_the_spaces_only(value: object, indent: int | str | None) -> None:
    found = indented_json(json.dumps(value, indent=indent))
    assert found is not None
    assert json.loads(found) == value
    assert found == indented_json(found)
