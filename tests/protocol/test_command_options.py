"""Options declared as the fields of a dataclass: what the command accepts, and what its function gets."""

from __future__ import annotations

from dataclasses import dataclass

import click
import pytest
from click.testing import CliRunner

from odradek.protocol.common.command_options import argument, arguments, either, flag, included, option, repeated, takes


@dataclass(frozen=True, kw_only=True)
class Place:
    host: str = option("-h", "--host", default="localhost")
    unseen: None = option("--unseen", expose_value=False)


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    names: tuple[str, ...] = arguments()
    place: Place = included(Place)
    topic: str = option("--topic", required=True, help="The topic.")
    partition: int | None = option("--partition", type=int)
    entities: tuple[str, ...] = either(repeated("--entity"), repeated("--entity-default", is_flag=True, flag_value=""))
    force: bool = flag("--force")


@click.command()
@takes(SampleOptions)
def command(options: SampleOptions) -> None:
    click.echo(options)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--topic t", SampleOptions(topic="t")),
        ("--topic t --partition 3 --force", SampleOptions(topic="t", partition=3, force=True)),
        ("--topic t -h there --unseen x", SampleOptions(topic="t", place=Place(host="there"))),
        ("a --topic t b", SampleOptions(topic="t", names=("a", "b"))),
        ("--entity e --entity-default --topic t", SampleOptions(topic="t", entities=("e", ""))),
    ],
)
def test_the_function_gets_the_given_values_and_the_defaults(line: str, expected: SampleOptions) -> None:
    result = CliRunner().invoke(command, line.split())
    assert (result.exit_code, result.output) == (0, f"{expected}\n")


def test_a_required_option_is_required_in_both_places() -> None:
    assert "Missing option '--topic'" in CliRunner().invoke(command, []).output
    with pytest.raises(TypeError, match="topic"):
        SampleOptions()


@dataclass(frozen=True, kw_only=True)
class OneOptions:
    name: str = argument()
    version: int | None = argument(required=False, type=int)


@pytest.mark.parametrize(("line", "expected"), [("a", OneOptions(name="a")), ("a 3", OneOptions(name="a", version=3))])
def test_single_arguments(line: str, expected: OneOptions) -> None:
    one = click.command(takes(OneOptions)(click.echo))
    assert CliRunner().invoke(one, line.split()).output == f"{expected}\n"
    assert "Missing argument 'NAME'" in CliRunner().invoke(one, []).output


def test_the_help_has_the_order_of_the_fields() -> None:
    names = [parameter.name for parameter in command.params]
    assert names == ["names", "host", "unseen", "topic", "partition", "entities", "entities", "force"]
