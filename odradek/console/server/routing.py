"""Finds the route of a path, and the arguments in path, query and body.

Owns: percent-decoding, JSON of bodies. Never does: calling a view. Invariant: whatever a client sends, the result
is a route with arguments or a ConsoleError.
"""

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qs, unquote

from ..arguments import BadArgument, ConsoleError, ViewArguments
from ..context import ViewRoute

MAX_FIELDS = 300
"""The most parameters of a query."""


class FoundRoute(NamedTuple):
    """A route, and the arguments in the path."""

    route: ViewRoute
    parts: dict[str, str]


class RouteTable:
    """The routes by path."""

    def __init__(self, routes: Iterable[ViewRoute]) -> None:
        self._routes = [(route, route.path.split("/")) for route in routes]

    def find(self, method: str, path: str) -> FoundRoute:
        """The route of a percent-encoded path. Raises ConsoleError: 404, or 405 if it has another method."""
        given = path.split("/")
        has_path = False
        for route, wanted in self._routes:
            parts = _match(wanted, given)
            if parts is None:
                continue
            has_path = True
            if route.method == method:
                return FoundRoute(route, parts)
        if has_path:
            raise ConsoleError(405, f"{path} does not take {method[:20]}", "METHOD_NOT_ALLOWED")
        raise ConsoleError(404, "the console has no such path", "NO_SUCH_PATH")


def _match(wanted: list[str], given: list[str]) -> dict[str, str] | None:
    if len(wanted) != len(given):
        return None
    parts = {}
    for name, text in zip(wanted, given, strict=True):
        if not name.startswith("{"):
            if name != text:
                return None
            continue
        try:
            parts[name[1:-1]] = unquote(text, errors="strict")
        except UnicodeDecodeError:
            raise BadArgument(name[1:-1], "is not UTF-8") from None
    return parts


def query_arguments(query: str, parts: Mapping[str, str]) -> ViewArguments:
    """The arguments of a GET. Raises BadArgument."""
    try:
        found = parse_qs(query, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError as error:
        raise BadArgument("query", str(error)) from None
    given: dict[str, object] = {name: values[0] if len(values) == 1 else values for name, values in found.items()}
    return ViewArguments({**given, **parts})


def body_arguments(body: bytes, parts: Mapping[str, str]) -> ViewArguments:
    """The arguments of a POST, whose body is a JSON object. Raises BadArgument."""
    try:
        found = json.loads(body, parse_constant=_refuse_constant) if body else {}
    except (ValueError, RecursionError) as error:  # a nesting of thousands, and numbers of thousands of digits, too
        raise BadArgument("body", f"is not JSON: {str(error)[:200]}") from None
    if not isinstance(found, dict):
        raise BadArgument("body", "must be a JSON object")
    return ViewArguments({**found, **parts})


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not a number of JSON")
