"""The order of the site's pages, and what is changed in them for MkDocs."""

import re

import yaml

from tools.places import ROOT, relative
from tools.site.build import pages, searchable
from tools.site.command_pages import subcommands
from tools.site.markdown_of_mkdocs import slug, with_links, with_wide_lists

MKDOCS = (ROOT / "mkdocs.yml").read_text()


def test_every_page_has_one_place_in_the_order_of_the_site() -> None:
    entries = re.findall(r"^ +- .*: (\S+)$", MKDOCS.partition("\nnav:\n")[2], re.MULTILINE)
    folders = tuple(entry for entry in entries if entry.endswith("/"))
    named = sorted(entry for entry in entries if not entry.endswith("/"))
    assert folders == ("commands/", "keys/", "docs/developers/decisions/")
    assert named == sorted(relative(page) for page in pages() if not relative(page).startswith(folders))


def test_the_site_needs_no_plugin_but_the_search() -> None:
    assert yaml.safe_load(MKDOCS)["plugins"] == ["search"]
    assert yaml.safe_load(MKDOCS)["theme"]["name"] == "mkdocs", "MkDocs' own theme"


def test_links_outside_of_code_get_their_address() -> None:
    page = (
        "[a](x.py), ![b](x.png)\n\n    [c](x.py)\n\n```\n[d](x.py)\n```\n[`e`](y.py#f) [g](https://h) [i](#j) [k](z.md)"
    )
    addresses = {"x.py": "https://r/x.py", "y.py#f": None, "z.md": "z.md"}
    assert with_links(page, addresses.__getitem__) == (
        "[a](https://r/x.py), ![b](x.png)\n\n    [c](x.py)\n\n```\n[d](x.py)\n```\n`e` [g](https://h) [i](#j) [k](z.md)"
    )


def test_lists_are_widened() -> None:
    page = "text:\n- a\n  b\n\n  c\n- d\n  - e\n\n        f\nlazy\n\nnot in a list\n"
    assert with_wide_lists(page) == (
        "text:\n\n- a\n    b\n\n    c\n\n- d\n\n    - e\n\n            f\nlazy\n\nnot in a list\n"
    )


def test_fences_in_lists_become_indented_code() -> None:
    page = "1. a\n\n   ```sh\n   b\n    c\n   ```\n\n   ```text\n   d\n   ```\n2. e\n\n```sh\nf\n```\n"
    assert with_wide_lists(page) == (
        "1. a\n\n\n        b\n         c\n\n\n    <!-- -->\n\n        d\n\n2. e\n\n```sh\nf\n```\n"
    )


def test_anchors_are_those_of_github() -> None:
    assert slug("Share groups (KIP-932): `a.b` - what, and why", "-") == "share-groups-kip-932-ab---what-and-why"


def test_subcommands_are_those_that_a_help_lists() -> None:
    click = "Usage: x\n\nOptions:\n  -h, --help  Help.\n\nCommands:\n  a    One\n       line.\n  b-c  Two.\n"
    assert list(subcommands(("x",), click)) == [("x", "a"), ("x", "b-c")]
    assert list(subcommands(("x",), "usage: x\n\noptions:\n  -h  help\n")) == []
    assert list(subcommands(("topics",), "")) == [("topics", "apply"), ("topics", "export")]


def test_a_page_is_found_once_by_its_first_heading() -> None:
    entries = [
        {"location": "a.html", "title": "In the menu", "text": "Heading \u00b6 One. Part \u00b6 Two."},
        {"location": "a.html#heading", "title": "Heading", "text": "One."},
        {"location": "a.html#part", "title": "Part", "text": "Two."},
    ]
    assert searchable(entries) == [
        {"location": "a.html", "title": "Heading", "text": "Heading One. Part Two."},
        {"location": "a.html#part", "title": "Part", "text": "Two."},
    ]
