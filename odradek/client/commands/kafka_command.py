"""Parses a command line as Kafka's scripts do: which options a line may repeat, and which it may not combine.

Click takes the last value of a repeated option, and ignores options that the chosen action does not use. Kafka's
scripts refuse both, so that nothing is changed by a line that means something else. Source: joptsimple's ``OptionSet``,
``CommandLineUtils.checkInvalidArgs``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import click
from click.core import ParameterSource

Refused = Mapping[str, Iterable[str]]
"""Option -> options that cannot be combined with it, without their dashes."""


class KafkaCommand(click.Command):
    """A command with the syntax of Kafka's scripts. An option may also be written with one dash, such as ``-list``."""

    def __init__(self, *given: Any, refused: Refused | None = None, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self._refused = refused or {}

    def make_parser(self, ctx: click.Context) -> Any:
        """The parser, which also knows each long option with one dash."""
        parser = super().make_parser(ctx)
        for name, option in list(parser._long_opt.items()):
            parser._long_opt.setdefault(name[1:], option)
        return parser

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the arguments. Raises UsageError for repeated and for contradictory options."""
        if args and not ctx.resilient_parsing:
            self._check_repeated(ctx, list(args))
        rest = super().parse_args(ctx, args)
        self._check_combinations(ctx)
        return rest

    def _check_repeated(self, ctx: click.Context, args: list[str]) -> None:
        _, _, order = self.make_parser(ctx).parse_args(args)
        for option, count in Counter(order).items():
            if count > 1 and isinstance(option, click.Option) and not (option.multiple or option.is_flag):
                raise click.UsageError(f"Found multiple arguments for option {option.opts[0]}; give it once", ctx)

    def _check_combinations(self, ctx: click.Context) -> None:
        given = {
            name.removeprefix("--")
            for option in self.params
            if option.name and ctx.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
            for name in option.opts
        }
        for used, others in self._refused.items():
            for other in others:
                if used in given and other in given:
                    raise click.UsageError(f'Option "[{used}]" can\'t be used with option "[{other}]"', ctx)
