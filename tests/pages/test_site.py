"""The site of the documentation, built: nothing is missing in it, and a reader finds it by other words than ours."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from mkdocs.exceptions import Abort

from odradek.__main__ import COMMANDS
from odradek.broker.config.definition import client_metrics_keys, group_keys, server_keys, topic_keys
from tools.places import ROOT
from tools.site import build, command_pages
from tools.site.command_pages import help_of

pytestmark = pytest.mark.ci

REPOSITORY = "https://git.example.org/odradek"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built without a warning: MkDocs is strict."""
    return build.make_site(tmp_path_factory.mktemp("site"), REPOSITORY)


class Links(HTMLParser):
    """Collects what a page links or loads, its anchors and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.anchors.add(given.get("id", ""))
        target = given.get("href") or given.get("src")
        if target is not None:
            self.targets.append(target)
            if tag != "a":
                self.loaded.append(target)

    def handle_data(self, data: str) -> None:
        self.text += data


class Code(HTMLParser):
    """Collects the blocks of code of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.blocks: list[str] = []
        self.is_inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "pre":
            self.is_inside = True
            self.blocks.append("")

    def handle_endtag(self, tag: str) -> None:
        self.is_inside = self.is_inside and tag != "pre"

    def handle_data(self, data: str) -> None:
        if self.is_inside:
            self.blocks[-1] += data


def read(site: Path) -> dict[Path, Links]:
    """Each page of the site."""
    return {path: Links(path.read_text()) for path in site.rglob("*.html")}


def test_every_link_leads_to_a_page_and_a_heading_of_it(site: Path) -> None:
    found = read(site)
    broken = []
    for path, page in found.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or path.name == "404.html":  # that page is served under any path, so its links are absolute
                continue
            leads_to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = found[leads_to].anchors if leads_to in found else set()
            if not leads_to.is_file() or (parts.fragment and unquote(parts.fragment) not in anchors):
                broken.append(f"{path.relative_to(site)}: {target}")
    assert len(found) > 120
    assert not broken


def test_it_loads_nothing_from_elsewhere(site: Path) -> None:
    """So it works when it is opened from disk, and no other server learns what is read."""
    foreign = {
        one for page in read(site).values() for one in page.loaded if urlsplit(one).scheme or one.startswith("//")
    }
    assert not foreign


def test_links_out_of_the_documentation_lead_to_the_repository(site: Path) -> None:
    outside = {one for page in read(site).values() for one in page.targets if one.startswith(REPOSITORY)}
    assert f"{REPOSITORY}/blob/main/conf/server.properties" in outside
    assert all((ROOT / one.partition("/main/")[2].partition("#")[0]).exists() for one in outside)


def test_without_an_address_they_are_text(tmp_path: Path) -> None:
    page = (build.make_site(tmp_path, None) / "index.html").read_text()
    assert "conf/server.properties" in page
    assert 'href="conf/server.properties"' not in page


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_page_with_its_help(site: Path, name: str) -> None:
    page = Links((site / "commands" / f"{name}.html").read_text())
    text = help_of((name,))
    assert "--help" in text
    assert text in page.text


def test_subcommands_are_on_the_page_of_their_command(site: Path) -> None:
    for command in (("topics", "apply"), ("storage", "adopt"), ("perf", "end-to-end"), ("features", "upgrade")):
        assert help_of(command) in Links((site / "commands" / f"{command[0]}.html").read_text()).text


def test_every_key_has_a_heading(site: Path) -> None:
    headings = {
        heading
        for path in (site / "keys").glob("*.html")
        for heading in re.findall(r'<h2 id="[^"]*">([^<]*)<', path.read_text())
    }
    known = {*server_keys(), *topic_keys(), *group_keys(), *client_metrics_keys()}
    assert known <= headings


COUNTED = ("h1", "h2", "h3", "h4", "li", "table", "tr", "pre", "blockquote")


def test_pages_have_the_lists_tables_and_code_that_github_shows(site: Path) -> None:
    """MkDocs reads Markdown in another way: a list without an empty line before it would be text, for example."""
    github = MarkdownIt("commonmark").enable("table")
    others = {}
    for page in build.pages():
        name = html_name(page)
        shown = (site / name).read_text()
        shown = shown.partition('role="main">')[2].partition("<footer")[0]
        counts = [_counts(github.render(page.read_text())), _counts(shown)]
        if counts[0] != counts[1]:
            others[str(name)] = {
                tag: (counts[0][tag], counts[1][tag]) for tag in COUNTED if len({one[tag] for one in counts}) > 1
            }
    assert not others


def test_code_on_the_site_is_that_of_the_pages_which_the_tests_run(site: Path) -> None:
    """Except that MkDocs makes spaces of tabs."""
    github = MarkdownIt("commonmark").enable("table")
    others = {}
    for page in build.pages():
        written = [
            token.content.expandtabs(4)
            for token in github.parse(page.read_text())
            if token.type in ("fence", "code_block")
        ]
        shown = Code((site / html_name(page)).read_text()).blocks
        if [one.strip() for one in written] != [one.strip() for one in shown]:
            others[page.name] = [(a, b) for a, b in zip(written, shown, strict=False) if a.strip() != b.strip()]
    assert not others


def html_name(page: Path) -> Path:
    """The page's file in the site."""
    name = page.relative_to(ROOT)
    return name.with_name("index.html" if page.name == "README.md" else f"{page.stem}.html")


def _counts(html: str) -> dict[str, int]:
    return {tag: len(re.findall(rf"<{tag}[ >]", html)) for tag in COUNTED}


def test_a_link_to_a_heading_that_does_not_exist_ends_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_pages, "index", lambda: "# Commands\n\n[a](../docs/commands.md#no-such-heading)\n")
    with pytest.raises(Abort, match="1 warnings"):
        build.make_site(tmp_path, None)


WORDS = {
    "full disk": "docs/operating.html#a-full-disk",
    "password login": "docs/security.html",
    "helm k8s kubernetes": "docs/docker-and-kubernetes.html",
    "delete a topic": "commands/topics.html",
    "reset offsets": "commands/groups.html",
    "log.retention.ms": "keys/of-a-broker-log.html#logretentionms",
    "retention": "docs/compaction.html",
    "pytest fixture": "docs/testing.html",
    "spark read": "docs/spark.html",
    "connection refused": "docs/troubleshooting.html",
    "prometheus": "docs/metrics.html",
    "consumer lag": "commands/groups.html",
    "migrate from kafka": "docs/moving-from-and-to-kafka.html",
    "exactly once": "docs/transactions.html",
    "testcontainers": "docs/moving-tests.html",
    "corrupt": "docs/audit-findings.html",
    "backup": "docs/operating.html",
    "power failure": "docs/durability.html",
}
"""Words of a reader -> a place that must be among the first results; without an anchor, any section of the page."""

SEARCH = """
const fs = require("fs"), vm = require("vm");
const [site, words] = [process.argv[1], JSON.parse(process.argv[2])];

class Element {
  constructor() { this.heard = {}; this.children = []; this.dataset = {noResultsText: "none"}; this.value = ""; }
  addEventListener(name, listener) { this.heard[name] = listener; }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  appendChild(script) { run(script.src.replace("./search/", "")); script.onload(); }
}
const heard = new Map();
const [field, list, head] = [new Element(), new Element(), new Element()];
field.form = new Element();
const context = vm.createContext({
  base_url: ".",
  location: {search: ""},
  URLSearchParams,
  document: {
    addEventListener: (name, listener) => heard.set(name, listener),
    getElementById: (id) => ({"mkdocs-search-query": field, "mkdocs-search-results": list})[id],
    createElement: () => new Element(),
    head,
  },
});
context.window = context;
function run(path) { vm.runInContext(fs.readFileSync(site + "/search/" + path, "utf8"), context); }

run("main.js");
heard.get("DOMContentLoaded")();
field.heard.focus();
const found = words.map((one) => {
  field.value = one;
  field.heard.input();
  return list.children.map((article) => article.children[0].children[0].href);
});
field.value = "xyzzy";
field.heard.input();
const nothing = [list.children.length, list.textContent];
field.value = " ";
field.heard.input();
console.log(JSON.stringify({found, nothing, empty: list.children.length}));
"""


@pytest.mark.nightly
def test_a_reader_s_words_find_the_pages(site: Path) -> None:
    """The search of the built site, run by Node.js with stand-ins for the elements of a page."""
    node = shutil.which("node")
    assert node is not None, "needs Node.js"
    ended = subprocess.run(
        [node, "-e", SEARCH, site, json.dumps(list(WORDS))], capture_output=True, text=True, check=True
    )
    answer = json.loads(ended.stdout)
    found = dict(zip(WORDS, answer["found"], strict=True))
    missed = [words for words, place in WORDS.items() if not any(is_at(place, one) for one in found[words][:10])]
    assert not missed, found[missed[0]]
    assert answer["nothing"] == [0, "none"]
    assert answer["empty"] == 0


def is_at(place: str, target: str) -> bool:
    """Whether the target of a result is the place, or a section of that page."""
    return target.startswith(f"./{place}")
