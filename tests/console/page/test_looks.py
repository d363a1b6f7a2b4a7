"""Names for screen readers, contrast in light and dark, names that are markup, what is loaded. In a real Chromium."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.client import Consumer
from support.brokers.our_broker import OurBroker
from support.chromium import Tab

from .conftest import console_of
from .crowd import MARKUP

pytestmark = pytest.mark.ci

VIEWS = (
    "#/topics",
    "#/topics/orders",
    "#/topics/orders/partitions",
    "#/topics/orders/partitions/1",
    "#/topics/orders/configs",
    "#/topics/orders/readers",
    "#/groups",
    "#/groups/crowd",
    "#/transactions",
    "#/connections",
    "#/storage",
    "#/cluster",
    "#/log",
)
NEED_NAMES = {
    *(
        "button",
        "link",
        "textbox",
        "searchbox",
        "combobox",
        "checkbox",
        "table",
        "img",
        "image",
        "navigation",
        "dialog",
    ),
    *("meter", "log", "columnheader", "region", "spinbutton", "DateTime"),
}
CONTRAST = """(() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((one) => one / 255)
    .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
    .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (it) => {
    for (; it; it = it.parentElement) {
      const found = parts(getComputedStyle(it).backgroundColor);
      if (found.length < 4 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const it = node.parentElement;
    if (!node.textContent.trim() || !it.checkVisibility()) continue;
    if (it.closest("option, [disabled], .unseen, svg, script, style")) continue;
    const [a, b] = [light(parts(getComputedStyle(it).color)), light(ground(it))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${node.textContent.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return [...new Set(poor)];
})()"""


def settle(tab: Tab, view: str) -> None:
    tab.go(view)
    tab.wait("!main.textContent.includes('Loading') && !main.textContent.includes('Reading')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_contrast(tab: Tab, scheme: str) -> None:
    tab.scheme(scheme)
    grounds = set()
    for view in VIEWS:
        settle(tab, view)
        assert tab.run(CONTRAST) == [], view
        grounds.add(tab.run("getComputedStyle(document.body).backgroundColor"))
    assert grounds == {"rgb(246, 245, 242)" if scheme == "light" else "rgb(19, 21, 24)"}
    tab.go("#/topics/orders?record=1%3A0")
    tab.wait("document.querySelector('dialog pre')")
    assert tab.run(CONTRAST) == []


def test_everything_has_a_name_for_screen_readers(tab: Tab) -> None:
    for view in VIEWS:
        settle(tab, view)
        names = tab.names()
        assert [role for role, name in names if role in NEED_NAMES and not name.strip()] == [], view
        roles = [role for role, _ in names]
        assert ("main" in roles, "navigation" in roles, roles.count("heading") >= 1) == (True, True, True), view
        assert tab.run("document.querySelectorAll('h1').length") == 1, view
    tab.go("#/topics")
    tab.run("[...document.querySelectorAll('button')].find((it) => it.textContent === 'Create topic').click()")
    tab.wait("document.querySelector('dialog')")
    names = tab.names()
    assert ("dialog", "Create a topic") in names
    assert [role for role, name in names if role in NEED_NAMES and not name.strip()] == []


def test_the_size_of_a_table_and_news_are_told_to_screen_readers(tab: Tab) -> None:
    settle(tab, "#/topics")
    assert tab.run("document.querySelector('table').getAttribute('aria-rowcount')") == "1003"
    tab.press("/")
    tab.type("topic-0777")
    tab.wait("document.getElementById('announcer').textContent.startsWith('1 of')")


def test_the_focus_is_always_visible(tab: Tab) -> None:
    settle(tab, "#/topics/orders")
    for _ in range(40):
        tab.press("Tab")
        shown = tab.run(
            "(() => { const style = getComputedStyle(document.activeElement); return document.activeElement =="
            " document.body || style.outlineStyle === 'solid' && parseFloat(style.outlineWidth) >= 2; })()"
        )
        assert shown, tab.run("document.activeElement.outerHTML.slice(0, 200)")


def test_names_that_are_markup_are_shown_as_text(tab: Tab) -> None:
    def is_text() -> None:
        tab.wait("[main, document.querySelector('dialog')].some((it) => it?.textContent.includes('<img src=x'))")
        assert tab.run(
            "[window.ran ?? null, document.querySelector('img'), document.querySelectorAll('main script').length]"
        ) == [
            None,
            None,
            0,
        ]

    for view in ("#/groups", "#/topics/payments", "#/topics/payments/readers"):
        settle(tab, view)
        is_text()
    settle(tab, "#/groups/" + tab.run(f"encodeURIComponent({MARKUP!r})"))
    is_text()
    partition = tab.run("ask('topics/payments/records').then((found) => found.rows[0].partition)")
    tab.go(f"#/topics/payments?record={partition}%3A0")
    tab.wait("document.querySelector('dialog')?.textContent.includes('Headers (1)')")
    is_text()


def test_markup_in_names_that_only_a_forged_answer_has(tab: Tab) -> None:
    """Kafka's topic names have no such characters, but a page must not rely on it."""
    tab.run(
        f"""void (window.marked = {MARKUP!r}, window.ask = async (where) => ({{
          topics: {{ topics: [{{ name: marked, partitions: 1, replicas: 1, error: "" }}] }},
          connections: {{ connections: [
            {{ library: marked, version: marked, listener: marked, user: marked, connections: 1, idle: 1 }}] }},
          rebalances: {{ rebalances: [{{ time: "1", reason: marked, members: 1, duration: 1, generation: 1 }}] }},
        }})[where] ?? {{}})"""
    )
    for view in ("#/connections", "#/topics"):
        settle(tab, view)
        tab.wait("main.textContent.includes('<img src=x')")
    tab.run("showRebalances(current, 'x', main)")
    tab.wait("main.textContent.includes('<img src=x')")
    tab.run("put(main, h('p', {}, marked), badge(marked), note(marked, 'bad'), commandLine(['topics', marked]))")
    assert tab.run("[window.ran ?? null, document.querySelector('img')]") == [None, None]


def test_what_only_the_broker_knows(open_tab: Callable[[str], Tab], address: str, broker: OurBroker) -> None:
    """Its log with new lines, connections by library, rebalances with reasons; another console has none of them."""
    tab = open_tab(address)
    tab.go("#/connections")
    tab.wait("[...document.querySelectorAll('tbody tr')].some((row) => row.innerText.includes('odradek'))")
    asyncio.run(read_payments(broker))
    settle(tab, "#/groups/late-readers")
    tab.wait("[...document.querySelectorAll('ol.times li')].some((it) => it.textContent.includes('generation 1'))")
    tab.go("#/log")
    tab.wait("document.querySelector('.log').textContent.includes('late-readers')")
    asyncio.run(read_payments(broker, MARKUP))
    tab.wait("document.querySelector('.log').textContent.includes('<img src=x')")
    assert tab.run("[window.ran ?? null, document.querySelector('img')]") == [None, None]
    with console_of(broker) as other:
        tab = open_tab(other)
        for view in ("#/connections", "#/log", "#/groups/late-readers"):
            settle(tab, view)
            tab.wait("main.textContent.includes('Kafka\\'s protocol does not tell this')")
        tab.close()


async def read_payments(broker: OurBroker, group: str = "late-readers") -> None:
    async with Consumer("payments", bootstrap_servers=broker.bootstrap_servers, group_id=group) as consumer:
        while not consumer.assignment():
            await consumer.poll(100)


def test_the_lag_of_an_hour_is_a_line(tab: Tab) -> None:
    """360 samples, of which the seconds of the first hundred are unknown; the lag rises to 7,200 and falls again."""
    tab.run(
        """void (window.hour = Array.from({length: 360}, (_, at) => ({time: String(1.7e12 + at * 10000),
          records: String(at < 180 ? at * 40 : (360 - at) * 40), seconds: at < 100 ? null : at})),
        window.ask = async () => ({samples: hour}), zone.isUtc = true)"""
    )
    settle(tab, "#/topics")
    tab.run("showLag(current, 'x', main)")
    tab.wait("main.querySelectorAll('svg.chart').length === 2")
    half, most = tab.run("[grouped(3600), grouped(7200)]")
    offsets, seconds = tab.run("[...main.querySelectorAll('svg.chart')].map((it) => it.getAttribute('aria-label'))")
    assert offsets == f"In offsets: 40 now, at most {most}, 360 samples"
    assert seconds.endswith("260 samples")
    points = tab.run("main.querySelector('svg.chart polyline').getAttribute('points').split(' ')")
    places = [tuple(map(float, point.split(","))) for point in points]
    across, down = zip(*places, strict=True)
    assert len(places) == 360
    assert list(across) == sorted(set(across)), "later samples are further to the right"
    assert min(down) == down[180], "a higher lag is higher in the picture"
    assert max(down) == down[0]
    texts = tab.run("[...main.querySelector('svg.chart').querySelectorAll('text')].map((it) => it.textContent)")
    assert texts == ["0", half, most, "22:13:20", "23:13:10"]


def test_the_page_loads_nothing_but_the_view_that_is_open(tab: Tab) -> None:
    asked = "performance.getEntriesByType('resource').map((it) => new URL(it.name).pathname.slice(1))"
    tab.wait(f"{asked}.includes('api/topic-details')")
    assert sorted(set(tab.run(asked))) == ["api/session", "api/topic-details", "api/topics"]
    assert tab.run("document.querySelectorAll('script[src], link[rel=stylesheet], img, iframe').length") == 0


def test_a_group_of_a_thousand_members_is_one_picture(tab: Tab) -> None:
    settle(tab, "#/groups/crowd")
    name = tab.run("document.querySelector('.picture svg').getAttribute('aria-label')")
    assert name == "5000 of 5\u202f001 partitions are assigned, to 1000 of 1\u202f000 members"
    assert tab.run("new Set([...document.querySelectorAll('.picture title')].map((it) => it.textContent)).size") == 5001
    assert tab.run("document.querySelectorAll('tbody tr').length") < 120


def test_a_console_that_only_shows(open_tab: Callable[[str], Tab], broker: OurBroker) -> None:
    with console_of(broker, "--read-only") as address:
        tab = open_tab(address)
        assert tab.run(
            "[...document.querySelectorAll('button')].find((it) => it.textContent === 'Create topic').disabled"
        )
        settle(tab, "#/topics/orders")
        assert tab.run("[...document.querySelectorAll('.top button')].map((it) => [it.textContent, it.disabled])") == [
            ["Refresh", False],
            ["Produce", True],
            ["Delete topic", True],
        ]
        tab.close()


def test_the_command_lines_of_the_page_work(tab: Tab, broker: OurBroker) -> None:
    """Each view and each dialog shows one; they run in a shell, as they are copied."""
    lines = set()
    for view in (*VIEWS, "#/topics/orders?record=1%3A0", "#/groups/readers"):
        settle(tab, view)
        tab.run("document.querySelectorAll('details').forEach((it) => { it.open = true; })")
        lines |= set(tab.run("[...document.querySelectorAll('.command pre')].map((it) => it.textContent)"))
    assert len(lines) >= 11
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for line in sorted(lines):
        done = subprocess.run(["sh", "-c", line], check=False, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, (line, done.stderr)
        assert broker.bootstrap_servers in line


def test_a_narrow_window_needs_no_sideways_scrolling(tab: Tab) -> None:
    tab.size(400, 800)
    for view in VIEWS:
        settle(tab, view)
        assert tab.run("document.documentElement.scrollWidth") <= 400, view
