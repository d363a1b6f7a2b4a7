"""ApiVersions announces exactly the APIs that are answered, and the documentation lists the others."""

import re
from collections.abc import Set
from pathlib import Path
from typing import get_type_hints

import pytest

from odradek.broker.api.parts import AllParts
from odradek.broker.dispatch.request import RequestContext
from odradek.broker.dispatch.served import SERVED, TELEMETRY, handler
from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.show.show import apis

DOCS = Path(__file__).parents[3] / "docs" / "differences.md"


def names(keys: Set[int]) -> set[str]:
    return {request.name.removesuffix("Request") for request, _ in apis() if request.api_key in keys}


def listed(heading: str) -> set[str]:
    """The APIs in the first column of the table under a heading."""
    table = DOCS.read_text().partition(f"| {heading} |")[2].partition("\n\n")[0]
    return {name for row in table.splitlines()[2:] for name in re.findall(r"\w+", row.split("|")[1])}


def test_the_documentation_lists_what_is_not_served() -> None:
    of_a_broker = {r.api_key for r, _ in apis() if r.versions and "broker" in r.listeners and r.api_key is not None}
    assert listed("APIs not announced") == names((of_a_broker - SERVED.keys()) | TELEMETRY)


def test_the_documentation_lists_what_is_refused() -> None:
    acls = {key for key, module in SERVED.items() if module.endswith("_acls")}
    assert listed("APIs refused") == names({ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE} | acls)


@pytest.mark.parametrize("api_key", SERVED, ids=SERVED.get)
def test_a_handler_says_what_it_takes(api_key: int) -> None:
    """The dispatcher calls handlers as ``Any``, so mypy only checks handlers with these types. It checks that the
    broker has :class:`.AllParts`."""
    parts, request, context = list(get_type_hints(handler(api_key)).values())[:3]
    assert parts in AllParts.__mro__
    assert context is RequestContext
    request_class = api(api_key).request_class()
    # The body of an ApiVersions request whose version is unknown is not read.
    assert request == (request_class | None if api_key == ApiKey.API_VERSIONS else request_class)
