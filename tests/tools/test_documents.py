"""Make targets, modules and links in the documents exist, and the pages have the required parts."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from odradek.broker.dispatch.served import SERVED
from odradek.protocol.apis.api_keys import api
from tools.places import DOCUMENTS, ROOT, relative


def test_make_targets_named_in_the_docs_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        (relative(p), target)
        for p in DOCUMENTS
        for target in re.findall(r"(?:^|`|\$ )make ([a-z][\w-]*)", p.read_text(), re.MULTILINE)
    }
    assert not {(doc, target) for doc, target in named if target not in targets}


EXAMPLES = {"broker/api/describe_user_scram_credentials.py"}
"""Modules in documents that need not exist: CONTRIBUTING.md shows how to write this one."""


def test_modules_named_in_the_docs_exist() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    known = {f"/{name}" for name in files}
    missing = [
        f"{relative(document)}: {name}"
        for document in DOCUMENTS
        for name in re.findall(r"`([\w.-][\w./-]*\.(?:py|java))`", document.read_text())
        if name not in EXAMPLES and not any(one.endswith(f"/{name}") for one in known)
    ]
    assert not missing


def test_links_between_documents_lead_somewhere() -> None:
    """Each link leads to a file, and its anchor, as GitHub makes it, to a heading of that file."""

    def anchors(path: Path) -> set[str]:
        headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
        return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}

    broken = []
    for document in DOCUMENTS:
        for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", document.read_text()):
            name, _, anchor = target.partition("#")
            path = document.parent / name if name else document
            if not path.exists() or (anchor and anchor not in anchors(path)):
                broken.append(f"{relative(document)}: {target}")
    assert not broken


def test_pages_named_in_the_code_exist() -> None:
    """A page that an error, a docstring or a configuration names."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    suffixes = {".py", ".yaml", ".yml", ".toml", ".properties", ".service", ".java", ""}
    files = [ROOT / name for name in tracked if Path(name).suffix in suffixes and (ROOT / name).is_file()]
    named = {(relative(file), page) for file in files for page in re.findall(r"docs/[\w/.-]+\.md", file.read_text())}
    assert len(named) > 50
    assert not {(file, page) for file, page in named if not (ROOT / page).exists()}


def test_the_index_links_every_page_and_the_readme_the_index() -> None:
    docs = ROOT / "docs"
    index = (docs / "README.md").read_text()
    pages = [page.relative_to(docs).as_posix() for page in docs.rglob("*.md") if page.parent.name != "decisions"]
    assert not [page for page in pages if page != "README.md" and f"]({page})" not in index]
    assert "](docs/README.md)" in (ROOT / "README.md").read_text()


LONG_PAGE_WORDS = 1500
READ_AS_A_WHOLE = {"docs/architecture.md"}
"""Pages that are read from the first line to the last."""
OWN_LIST = {"README.md"}
"""Pages whose headings are in a shorter list; another test compares the two."""


def test_long_pages_begin_with_their_headings() -> None:
    """As a list of links, before the first of the headings."""
    missing = []
    for document in DOCUMENTS:
        text = document.read_text()
        headings = re.findall(r"^##+ (.*)$", text, re.MULTILINE)
        if len(text.split()) > LONG_PAGE_WORDS and headings and document.name != "CHANGELOG.md":
            before = text.partition(f" {headings[0]}\n")[0]
            if relative(document) not in READ_AS_A_WHOLE | OWN_LIST and f"- [{headings[0]}](#" not in before:
                missing.append(relative(document))
    assert not missing


def test_the_changelog_keeps_its_form() -> None:
    """The sections of Keep a Changelog in their order, and one line for each change."""
    unreleased, *releases = (ROOT / "CHANGELOG.md").read_text().split("\n## [")[1:]
    assert unreleased.startswith("Unreleased]\n")
    order = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    for release in (unreleased, *releases):
        sections = re.findall(r"^### (.*)$", release, re.MULTILINE)
        assert sections == [name for name in order if name in sections]
        assert not re.findall(r"^  +\S.*$", release, re.MULTILINE), "a change has one line"
    assert re.match(r"\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}\n", releases[0])


def test_ci_runs_every_python_that_the_package_says_it_supports() -> None:
    workflow = (ROOT / ".github/workflows/ci.yaml").read_text()
    matrix = re.search(r"python-version: \[(.*)\]", workflow)
    assert matrix is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    classified = [text.rpartition(" ")[2] for text in project["classifiers"] if re.search(r":: 3\.\d+$", text)]
    assert re.findall(r"3\.\d+", matrix[1])[: len(classified)] == classified, "CI may try newer ones"
    assert project["requires-python"] == f">={classified[0]}"
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"run: make ([\w-]+)", workflow)) <= set(targets)
    assert "run: .ci/run" in workflow


def test_the_readme_says_near_its_top_what_it_is_not_and_how_it_is_installed() -> None:
    top, _, rest = (ROOT / "README.md").read_text().partition("## Two commands")
    needed = ("It is for:", "one broker", "without replication", "TLS", "ACLs", "Linux", "macOS")
    assert all(word in top for word in needed)
    assert top.partition("What it is not:")[2].partition("On this page:")[0].count("\n- ") == 5
    install = rest.partition("## Install")[2].partition("\n## ")[0]
    assert re.findall(r"^    (\S.*?)(?: +#.*)?$", install, re.MULTILINE) == [
        "pip install .", "pip install '.[spark]'", "make wheel", "pip install dist/odradek-*.whl",
    ]  # fmt: skip


def test_the_readme_begins_with_its_headings() -> None:
    text = (ROOT / "README.md").read_text()
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    listed = re.findall(r"\[([^\]]*)\]\(#", text.partition("On this page:")[2].partition("\n(Odradek")[0])
    assert sorted(one.lower() for one in listed) == sorted(one.lower() for one in headings)
    assert text.partition("It is for:")[0].count("\n") <= 10, "what it is, in ten lines"


def test_the_readme_has_the_figures_of_the_page_about_benchmarks() -> None:
    rows = {
        "start": ["start s"],
        "memory, idle and after load": ["memory idle MB", "memory after load MB"],
        "one producer, 1 KiB, acks=all": ["produce 1024 B acks=all, MB/s"],
        "one consumer, 1 KiB": ["consume 1024 B, MB/s"],
        "acknowledged produce, p99": ["acked produce, p99 ms"],
        "200 connections, one record each": ["200 connections, one record each, requests/s"],
    }
    page = _table((ROOT / "docs" / "developers" / "benchmarks.md").read_text().partition("\n## Three brokers")[0])
    readme = _table((ROOT / "README.md").read_text().partition("\n## Benchmarks\n")[2].partition("\n## ")[0])
    assert set(readme) - {"", "---"} == set(rows)
    for name, ours in rows.items():
        for column in (0, 1):  # of Odradek, of Apache Kafka
            shown = [float(one.replace(",", "")) for one in re.findall(r"[\d.,]+", readme[name][column])]
            measured = [float(page[one][column].replace(",", "")) for one in ours]
            assert shown == pytest.approx(measured, rel=0.01), name


def test_the_short_page_about_benchmarks_has_the_figures_of_the_long_one() -> None:
    measured = _table((ROOT / "docs" / "developers" / "benchmarks.md").read_text())
    page = _table((ROOT / "docs" / "benchmarks.md").read_text())
    both = page.keys() & measured.keys() - {"", "what", "---"}
    assert len(both) >= 25
    assert {name: page[name][:2] for name in both} == {name: measured[name][:2] for name in both}


def test_the_page_about_alternatives_has_the_figures_of_the_page_about_benchmarks() -> None:
    rows = {
        "start": "start s",
        "memory, idle": "memory idle MB",
        "memory, after load": "memory after load MB",
        "produce, 1 KiB, acks=all": "produce 1024 B acks=all, MB/s",
        "requests of 200 connections, one record each": "200 connections, one record each, requests/s",
    }
    measured = _table((ROOT / "docs" / "developers" / "benchmarks.md").read_text().partition("\n## Three brokers")[0])
    page = _table((ROOT / "docs" / "alternatives.md").read_text().partition("\n## One broker for a small system")[2])
    for name, row in rows.items():
        for column in (0, 1):  # of Odradek, of Apache Kafka
            (shown,) = re.findall(r"[\d.,]+", page[name][column])
            assert _number(shown) == pytest.approx(_number(measured[row][column]), rel=0.01), name


def test_the_page_about_alternatives_has_the_medians_that_were_measured() -> None:
    measured = json.loads((ROOT / "docs" / "developers" / "benchmarks.json").read_text())["alternatives"]["results"]
    page = _table((ROOT / "docs" / "alternatives.md").read_text())
    for name, figures in measured.items():
        medians = [one["median"] for one in figures.values()]
        assert [_number(cell) for cell in page[name]] == pytest.approx(medians, rel=0.01, abs=0.005), name


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _table(text: str) -> dict[str, list[str]]:
    """The rows of the tables in a text: the first cell -> the others."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {row[0]: row[1:] for row in rows}


def test_the_page_of_limits_names_what_bounds_each_api() -> None:
    page = (ROOT / "docs" / "limits.md").read_text()
    table = page.split("### What bounds each request\n", 1)[1].split("\n## ", 1)[0]
    missing = {api(key).name for key in SERVED} - set(re.findall(r"\w+", table))
    assert not missing, f"docs/limits.md does not say what bounds one turn of {sorted(missing)}"
