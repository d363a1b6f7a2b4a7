"""Arguments declared as the fields of a NamedTuple: what argparse accepts, and what the command gets."""

import argparse
from typing import NamedTuple

import pytest

from odradek.protocol.common.command_arguments import add_arguments, argument, parse


class SampleArguments(NamedTuple):
    file: str | None = argument(nargs="?", metavar="FILE", help="The file.")
    topic: list[str] = argument("-t", "--topic", action="append", default=[], help="A topic.")
    most: int = argument("--max-count", type=int, default=7, help="The most lines; %(default)s by default.")
    force: bool = argument("--force", action="store_true", help=argparse.SUPPRESS)


@pytest.fixture
def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="sample")
    add_arguments(made, SampleArguments)
    return made


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", SampleArguments(None, [], 7, False)),
        ("f --topic a -t b", SampleArguments("f", ["a", "b"], 7, False)),
        ("--max-count 3 --force", SampleArguments(None, [], 3, True)),
    ],
)
def test_the_command_gets_the_given_values_and_the_defaults(
    parser: argparse.ArgumentParser, line: str, expected: SampleArguments
) -> None:
    assert parse(parser, SampleArguments, line.split()) == expected


def test_wrong_usage_ends_the_process(parser: argparse.ArgumentParser) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(parser, SampleArguments, ["--max-count", "x"])
    assert ended.value.code == 2


def test_the_help_has_the_order_of_the_fields(parser: argparse.ArgumentParser) -> None:
    text = parser.format_help()
    assert "[FILE]" in text
    assert "7 by default" in text
    assert text.index("A topic.") < text.index("The most lines")
    assert "--force" not in text
