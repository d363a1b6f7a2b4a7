"""The page of an audit in a browser: links, commands, keys, colours, and how long 50,000 partitions take to open."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

from odradek.pipeline.audit.report.table_files import tables_of_a_run, write_partition_rows
from odradek.pipeline.audit.report.write import write_report
from odradek.pipeline.audit.result import DirectoryStop
from odradek.pipeline.audit.run_identity import DirectoryOwner, RunEnd, RunIdentity
from support.browsers import browser_or_skip
from support.chromium import Chromium, Tab

from .audit_results import random_result

pytestmark = pytest.mark.ci
PICTURES = "TESTS_SCREENSHOTS"
"""A folder for the screenshots that docs/audit.md shows."""
DIRECTORY = "/var/lib/kafka/data"
OWNER = DirectoryOwner("qWyWBZJwTzSxQxA7lL3vMQ", 1)
RUN = RunIdentity("run-1796058330554-3fd446f5", 1_796_058_330_554, {DIRECTORY: OWNER})
END = RunEnd(f"odradek audit {DIRECTORY} --output /tmp/audit", 41.3, 1)
OPENED = """new Promise((done) => {
  const tell = () => done(performance.getEntriesByType("navigation")[0].loadEventStart);
  if (document.readyState === "complete") tell(); else addEventListener("load", tell);
})"""
COLOURS = """[".tiles dt", ".verdict", ".mark.error", ".mark.warning", ".mark.info", "a", ".legend"].map((name) => {
  const parts = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const isClear = (it) => getComputedStyle(it).backgroundColor === "rgba(0, 0, 0, 0)";
  const node = document.querySelector(name);
  let ground = node;
  while (ground !== document.body && isClear(ground)) ground = ground.parentElement;
  return [parts(getComputedStyle(node).color), parts(getComputedStyle(ground).backgroundColor)];
})"""
ROWS = """[...document.querySelectorAll('[data-table=NAME] tbody tr')]"""


class Opened(NamedTuple):
    """A tab that shows the page of an audit."""

    tab: Tab
    address: str


def page_of(output: Path, partitions: int) -> str:
    """The address of a page about this number of partitions."""
    result = random_result(1, partitions)
    result.stops = [DirectoryStop(DIRECTORY, is_clean=False, is_live=True, now_ms=RUN.time_ms)]
    with tables_of_a_run(output, RUN) as tables:
        write_partition_rows(tables, 0, result.partitions)
        result.portions = 1
        write_report(result, tables, output, ["html"], end=END)
    return (output / "index.html").as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium(browser_or_skip()) as running:
        yield running


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(tmp_path_factory.mktemp("page"), 2_000)


@pytest.fixture
def page(browser: Chromium, address: str) -> Iterator[Opened]:
    tab = browser.tab()
    tab.open(address)
    tab.wait('document.querySelectorAll("[data-table=partitions] tbody tr").length > 0')
    yield Opened(tab, address)
    assert tab.faults == []


def rows(name: str) -> str:
    return ROWS.replace("NAME", name)


def test_a_finding_links_to_its_partition_and_back(page: Opened) -> None:
    tab = page.tab
    first = f"{rows('findings')}[0]"
    topic, partition = tab.run(f"[{first}.cells[2].textContent, {first}.cells[3].textContent]")
    tab.click(f"{first}.querySelector('a')")
    tab.wait("document.activeElement.type === 'search'")
    shown = tab.run(f"{rows('partitions')}.map((row) => [row.cells[2].textContent, row.cells[3].textContent])")
    assert shown == [[topic, partition]]
    tab.click(f"{rows('partitions')}[0].querySelector('a')")
    tab.wait(f"{rows('findings')}.length < 20")
    found = tab.run(f"{rows('findings')}.map((row) => [row.cells[2].textContent, row.cells[3].textContent])")
    assert found
    assert all(one == [topic, partition] for one in found)
    assert first


def test_a_finding_has_its_commands(page: Opened) -> None:
    tab = page.tab
    details = f"{rows('findings')}.map((row) => row.querySelector('details')).find(Boolean)"
    tab.click(f"{details}.querySelector('summary')")
    tab.wait(f"{details}.open")
    lines = tab.run(f"[...{details}.querySelectorAll('code')].map((line) => line.textContent)")
    place = tab.run(f"{details}.closest('tr').cells[4].firstChild.textContent")
    assert lines
    assert lines[0].startswith("od -A d -t x1 -j ")
    assert lines[0].endswith(f"'{place}'"), "the topic's name needs quotes"
    told = tab.run("[...document.querySelectorAll('#worst details code')].map((line) => line.textContent)")
    assert set(lines) <= set(told), "the page and its script fill the templates in the same way"


def test_keys_reach_everything_that_a_click_does(page: Opened) -> None:
    tab = page.tab
    tab.tab_to('it.id === "map"')
    tab.press("ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp")
    told = tab.run('document.getElementById("map-readout").textContent')
    tab.press("Enter")
    tab.wait("document.activeElement.type === 'search'")
    [shown] = tab.run(f"{rows('partitions')}.map((row) => row.cells[2].textContent + '-' + row.cells[3].textContent)")
    assert told.startswith(f"{shown} in ")
    tab.tab_to('it.textContent === "size" && it.tagName === "BUTTON"')
    tab.press("Enter")
    tab.wait("document.querySelector('#all-partitions [aria-sort=descending]') !== null")


def test_a_link_to_a_partition_works_when_the_page_opens(browser: Chromium, page: Opened) -> None:
    topic = page.tab.run(f"{rows('partitions')}[0].cells[2].textContent")
    tab = browser.tab()
    tab.open(f"{page.address}#all-partitions={quote(topic, safe='')}/0")
    tab.wait(f"{rows('partitions')}.length === 1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(page: Opened, scheme: str) -> None:
    """Texts differ from their ground by the contrast that WCAG 2 asks for (4.5)."""
    tab = page.tab
    tab.scheme(scheme)
    colours = tab.run(COLOURS)
    assert all(contrast(*pair) >= 4.5 for pair in colours), [round(contrast(*pair), 1) for pair in colours]
    if PICTURES in os.environ:
        tab.size(1200, 1300)
        tab.picture(Path(os.environ[PICTURES]) / f"audit-page-{scheme}.png")


def contrast(ink: list[float], ground: list[float]) -> float:
    """The ratio of luminances by WCAG 2."""
    first, second = sorted((luminance(ink), luminance(ground)), reverse=True)
    return (first + 0.05) / (second + 0.05)


def luminance(colour: list[float]) -> float:
    parts = [part / 255 for part in colour]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_fifty_thousand_partitions_open_in_two_seconds(browser: Chromium, tmp_path: Path) -> None:
    """The page takes less than 2 s of processor time in the browser, with all 50,000 rows. Prints how long it took."""
    tab = browser.tab()
    tab.call("Performance.enable", timeDomain="threadTicks")
    tab.open(page_of(tmp_path, 50_000))
    opened = tab.run(OPENED)
    spent = {one["name"]: one["value"] for one in tab.call("Performance.getMetrics")["metrics"]}["TaskDuration"]
    print(f"opens in {opened:.0f} ms, {spent * 1000:.0f} ms of processor time")
    assert spent < 2
    assert tab.run('document.querySelector("#all-partitions .count").textContent') == "200 of 50000 shown"
    tab.click("document.querySelector('#all-partitions input')")
    tab.type("topic.49")
    tab.wait('!document.querySelector("#all-partitions .count").textContent.includes("of 50000")')
    assert tab.faults == []
