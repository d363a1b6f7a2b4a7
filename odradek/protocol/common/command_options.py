"""The options of a command, declared once: as the fields of a dataclass. The command's function gets an instance of it.

    @dataclass(frozen=True, kw_only=True)
    class TopicOptions:
        topic: str | None = option("--topic", help="The topic.")
        if_exists: bool = flag("--if-exists", help="Do not fail if the topic does not exist.")

    @click.command()
    @takes(TopicOptions)
    def command(options: TopicOptions) -> int:

The help lists the options in the order of the fields. The settings of an option are those of ``click.option``. A
field's default is its option's, so an instance that is made without a command line has the values of an empty one.
"""

from collections.abc import Callable, Collection
from dataclasses import field, fields
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import click

Options = TypeVar("Options")
Result = TypeVar("Result")

DECLARED = "declared"
INCLUDED = "included"
WITHOUT = "without"


class Declaration(NamedTuple):
    """An option or an argument of a command; ``decorator`` is click's, which adds it to a function."""

    decorator: Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]]
    names: tuple[str, ...]
    settings: dict[str, Any]

    def add_to(self, function: Callable[..., Any], field_name: str) -> Callable[..., Any]:
        """Adds it to the function, with the field's name as its parameter's."""
        return self.decorator(*self.names, field_name, **self.settings)(function)


def _declared(declarations: tuple[Declaration, ...], default: Any) -> Any:
    if declarations[0].settings.get("required"):
        return field(metadata={DECLARED: declarations})
    return field(default=default, metadata={DECLARED: declarations})


def option(*names: str, **settings: Any) -> Any:
    """A field with the value of an option: None, or the setting ``default``, if it is not given."""
    return _declared((Declaration(click.option, names, settings),), settings.get("default"))


def flag(*names: str, **settings: Any) -> Any:
    """A field that is True if the option is given."""
    return _declared((Declaration(click.option, names, {"is_flag": True, **settings}),), default=False)


def repeated(*names: str, **settings: Any) -> Any:
    """A field with a tuple of the values of an option that may be repeated."""
    return _declared((Declaration(click.option, names, {"multiple": True, **settings}),), default=())


def argument(**settings: Any) -> Any:
    """A field with the value of an argument that is not an option; None if it is not ``required`` and not given."""
    return _declared((Declaration(click.argument, (), {"required": True, **settings}),), default=None)


def arguments(**settings: Any) -> Any:
    """A field with a tuple of the arguments that are not options."""
    return _declared((Declaration(click.argument, (), {"nargs": -1, **settings}),), default=())


def either(*alternatives: Any) -> Any:
    """A field whose value several options set: those of fields such as :func:`option` makes."""
    declarations = tuple(declaration for alternative in alternatives for declaration in alternative.metadata[DECLARED])
    return _declared(declarations, alternatives[0].default)


def included(options: type[Options], without: Collection[str] = ()) -> Any:
    """A field with another dataclass of options. They are options of the command, in the field's place. The command has
    no options for the fields ``without``, which always have their defaults."""
    return field(default_factory=options, metadata={INCLUDED: options, WITHOUT: without})


def takes(options: type[Options]) -> Callable[[Callable[[Options], Result]], Callable[..., Result]]:
    """Decorates the function of a click command: adds the options, and calls it with their values."""

    def decorate(function: Callable[[Options], Result]) -> Callable[..., Result]:
        @wraps(function)
        def call(**given: Any) -> Result:
            return function(_instance(options, given))

        return _with_options(call, options)

    return decorate


def _with_options(
    function: Callable[..., Any], options: type[Any], without: Collection[str] = ()
) -> Callable[..., Any]:
    for declared in reversed(fields(options)):
        if declared.name in without:
            continue
        if INCLUDED in declared.metadata:
            function = _with_options(function, declared.metadata[INCLUDED], declared.metadata[WITHOUT])
        for declaration in reversed(declared.metadata.get(DECLARED, ())):
            function = declaration.add_to(function, declared.name)
    return function


def _instance(options: type[Options], given: dict[str, Any]) -> Options:
    """An instance with the given values. An option whose value click does not pass on has its default."""
    parts = {
        declared.name: _instance(declared.metadata[INCLUDED], given)
        for declared in fields(options)  # type: ignore[arg-type]
        if INCLUDED in declared.metadata
    }
    values = {declared.name: given[declared.name] for declared in fields(options) if declared.name in given}  # type: ignore[arg-type]
    return options(**parts, **values)
