"""Search, command lines, the bytes of a form, samples of lag. No broker."""

import shlex

import pytest

from odradek.console.arguments import BadArgument
from odradek.console.views.lag_history import MOST_GROUPS, SAMPLES, Rings
from odradek.console.views.plan import command, piped
from odradek.console.views.record_actions import parsed
from odradek.console.views.record_walk import EVERYTHING, FoundRecord, needle_of
from odradek.protocol.records.batch import BatchHeader

HEADER = BatchHeader(0, 0, 0, 2, 0, 0, 0, 0, 0, -1, -1, -1, 1)


def record(
    key: bytes | None, value: bytes | None, *headers: tuple[str, bytes | None], control: str = ""
) -> FoundRecord:
    return FoundRecord(0, 0, 0, key, value, list(headers), HEADER, "", control)


@pytest.mark.parametrize(
    ("text", "parts", "is_found"),
    [
        ("order-1", ("key",), True),
        ("ORDER-1", ("key",), True),
        ("order-1", ("value", "headers"), False),
        ("abc", ("headers",), True),
        ("trace", ("headers",), True),
        ("total", ("value",), True),
        (".*", ("key", "value", "headers"), False),  # no expression
        ("é", ("value",), True),
    ],
)
def test_a_search_is_plain_text(text: str, parts: tuple[str, ...], is_found: bool) -> None:
    one = record(b"order-1", '{"total": "é"}'.encode(), ("trace", b"ABC"), ("null", None))
    assert needle_of(text, parts).finds(one) == is_found


def test_a_search_can_match_the_case() -> None:
    assert not needle_of("ORDER", matches_case=True).finds(record(b"order", None))
    assert needle_of("order", matches_case=True).finds(record(b"order", None))


def test_a_search_skips_control_records_unless_it_is_empty() -> None:
    control = record(b"\0\0\0\1", b"\0\0\0\0\0\0", control="COMMIT")
    assert EVERYTHING.finds(control)
    assert not needle_of("\0").finds(control)


def test_words_are_quoted() -> None:
    hostile = "a'; rm -rf / #$(x)`y`"
    line = command(("--bootstrap-server", "h:1"), "topics", "--delete", ["--topic", hostile])
    assert shlex.split(line) == ["odradek", "topics", "--bootstrap-server", "h:1", "--delete", "--topic", hostile]
    assert shlex.split(piped(hostile, "x"))[2] == hostile


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("text", "é", "é".encode()),
        ("text", "", b""),
        ("hex", "00 Ff", b"\0\xff"),
        ("hex", "", b""),
        ("null", "x", None),
    ],
)
def test_the_bytes_of_a_form(kind: str, text: str, found: bytes | None) -> None:
    assert parsed("value", kind, text) == found


@pytest.mark.parametrize(("kind", "text"), [("hex", "0"), ("hex", "zz"), ("base64", "AA==")])
def test_other_bytes_of_a_form_are_refused(kind: str, text: str) -> None:
    with pytest.raises(BadArgument):
        parsed("value", kind, text)


def test_groups_that_were_opened_are_sampled_before_others() -> None:
    rings = Rings()
    names = [f"group-{number:03d}" for number in range(MOST_GROUPS + 30)]
    assert rings.chosen(names) == names[:MOST_GROUPS]
    for name in (*names[-3:], "gone"):
        rings.opened(name)
    assert rings.chosen(names) == [*reversed(names[-3:]), *names[: MOST_GROUPS - 3]]
    for name in names:
        rings.opened(name)
    assert sorted(rings.chosen(names)) == names[-MOST_GROUPS:]


def test_the_memory_of_samples_is_fixed() -> None:
    rings = Rings(lambda: 5)
    for number in range(MOST_GROUPS + 3):
        for at in range(SAMPLES + 7):
            rings.add(f"group-{number}", at, None)
    assert rings.of("group-0") == []
    assert [one.records for one in rings.of("group-10")] == list(range(7, SAMPLES + 7))
    assert sum(bool(rings.of(f"group-{number}")) for number in range(MOST_GROUPS + 3)) == MOST_GROUPS
