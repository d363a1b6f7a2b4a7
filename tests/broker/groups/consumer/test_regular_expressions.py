"""Subscriptions by regular expression: valid patterns and their matches, compared with RE2/J, which Kafka uses."""

import json
import random

import pytest

from odradek.broker.groups.consumer.regular_expressions import matching, validate
from support.kafka.java import java_class, java_or_skip, run_class

NAMES = [
    "a",
    "b",
    "aa",
    "ab",
    "a.b",
    "a-b",
    "foo",
    "foo.bar",
    "Foo",
    "bar",
    "topic-1",
    "topic-12",
    "__consumer_offsets",
]
ATOMS = [
    "a",
    "b",
    "foo",
    ".",
    "o",
    "\\.",
    "-",
    "\\d",
    "\\w",
    "[a-f]",
    "[^a]",
    "[[:alpha:]]",
    "topic",
    "1",
    "_",
    "\\pL",
    "é",
]
BROKEN = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "*",
    "+",
    "?",
    "\\",
    "(?=",
    "(?<",
    "(?P<n>",
    "|",
    "^",
    "$",
    "\\8",
    "\\Q",
    "[z-a]",
]
WRITTEN = [
    *("", ".*", "foo.*", "foo|bar", "(foo|bar)\\..*", "(?i)FOO", "^foo$", "topic-[0-9]+", "topic-\\d{1,2}", "[^_].*"),
    *("(?s).", "(?U)a*", "a{0}", "a{1000}", "a{1001}", "a{2,1}", "a{,3}", "(?P<n>a)b", "(?<n>a)b", "\\x{61}", "\\141"),
    *("a**", "a++", "(?!a).*", "(?<=a)b", "(?>a)", "\\1", "\\k<n>", "(?x)a", "\\p{Greek}", "\\pX", "[[:foo:]]"),
    *(
        "(((((",
        "a)",
        "(?",
        "(?i",
        "\\",
        "[a",
        "[a-",
        "x{2}{3}",
        "\\cA",
        "\\bfoo\\b",
        "\\Afoo\\z",
        "foo\\Z",
        "((a*)*)*b",
    ),
]


def test_a_pattern_matches_the_whole_name() -> None:
    assert matching("foo", NAMES) == {"foo"}
    assert matching("fo", NAMES) == frozenset()
    assert matching("foo|a.b", NAMES) == {"foo", "a.b", "a-b"}
    assert matching("", NAMES) == frozenset()


def test_internal_topics_are_matched_like_others() -> None:
    assert "__consumer_offsets" in matching(".*", NAMES)


def test_what_is_no_pattern_is_named_and_matches_nothing() -> None:
    assert validate("foo.*") is None
    assert validate("(foo") == "missing closing )"
    assert validate("foo(?=bar)") == "invalid or unsupported Perl syntax"
    assert matching("(foo", NAMES) == frozenset()


def test_nothing_is_written_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    validate("(")
    assert capfd.readouterr().err == ""


def test_time_is_linear_in_the_name() -> None:
    """A backtracking matcher would need longer than the age of the universe."""
    assert matching("(a*)*(a*)*(a*)*b", ["a" * 249]) == frozenset()


def random_patterns(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    patterns = []
    for _ in range(count):
        parts = []
        for _ in range(chance.randint(1, 5)):
            part = chance.choice(ATOMS)
            part += chance.choice(("", "", "", "*", "+", "?", "{1,2}", "*?"))
            match chance.randrange(8):
                case 0:
                    part = f"({part}|{chance.choice(ATOMS)})"
                case 1:
                    part = f"(?:{part})?"
                case 2:
                    part += "|"
            parts.append(part)
        if chance.random() < 0.2:
            parts.insert(chance.randint(0, len(parts)), chance.choice(BROKEN))
        patterns.append("".join(parts))
    return patterns


def ask_kafka(patterns: list[str]) -> list[dict[str, object]]:
    java_or_skip()
    questions = "\n".join(json.dumps({"pattern": pattern, "names": NAMES}) for pattern in patterns)
    result = run_class(java_class("TopicPatterns"), standard_input=questions, timeout_s=1_200)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.java
def test_equal_to_the_library_of_kafka() -> None:
    patterns = WRITTEN + random_patterns(1, 1_000)
    *answers, repetitions, character, twice, byte = ask_kafka(
        [*patterns, "(a{500}){3}", "\\é", "(?P<n>a)(?P<n>b)", "\\C"]
    )
    ours: list[dict[str, object]] = []
    for pattern in patterns:
        if (error := validate(pattern)) is not None:
            ours.append({"error": error})
        else:
            ours.append({"matches": [name for name in NAMES if name in matching(pattern, NAMES)]})
    differing = [row for row in zip(patterns, ours, answers, strict=True) if row[1] != row[2]]
    assert not differing
    assert sum("error" in answer for answer in answers) > 100
    # As docs/differences.md describes.
    assert validate("(a{500}){3}") == "invalid repeat count"
    assert validate("\\é") == "invalid escape sequence"
    assert validate("(?P<n>a)(?P<n>b)") is None
    assert validate("\\C") is None
    assert [("error" in answer) for answer in (repetitions, character, twice, byte)] == [False, False, True, True]
