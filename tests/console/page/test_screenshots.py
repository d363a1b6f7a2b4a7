"""The pictures of README and docs, made from a real page: ``make screenshots`` writes them to docs/images.

In CI they go to a temporary directory: a picture that cannot be made fails there.
"""

import os
from pathlib import Path

import pytest

from support.chromium import Tab

from .test_looks import settle

pytestmark = pytest.mark.ci

WIDTH, HEIGHT = 1280, 800
RESET = """(() => {
  for (const made of document.querySelectorAll('#toast .note')) made.remove();
  document.querySelector('#facts .mono').textContent = '127.0.0.1:9092';
  document.activeElement.blur();
})()"""
"""What differs between two runs is not for pictures: ports, messages."""
HISTORY = """void (window.asked = ask, window.ask = async (where, ...rest) => {
  const found = await asked(where, ...rest);
  if (!where.endsWith('/lag') || !found.samples.length) return found;
  const now = found.samples[found.samples.length - 1];
  const stop = (at, length) => at < 0 ? 0 : Math.max(0, Math.min(at, length) * 31 - Math.max(0, at - length) * 95);
  const before = Array.from({length: 180}, (_, at) => {
    const behind = stop(at - 35, 30) + stop(at - 120, 12) + (at * 7919) % 40;
    const [time, records] = [now.time - (180 - at) * 20000, Number(now.records) + behind].map(String);
    return {time, records, seconds: behind / 52 + 1};
  });
  return {...found, samples: [...before, now]};
})"""
"""A test has no hour. The lag before the last sample is made up: the consumers stood still twice."""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """``TESTS_SCREENSHOTS`` names the directory that the pictures are written to."""
    named = os.environ.get("TESTS_SCREENSHOTS")
    return Path(named) if named else tmp_path


@pytest.mark.parametrize(
    ("name", "view", "scheme", "ready"),
    [
        ("topics", "#/topics", "light", "main.textContent.includes('in sync') && !main.textContent.includes('…')"),
        ("records", "#/topics/orders?partitions=0,1", "light", "main.textContent.includes('aborted')"),
        ("record", "#/topics/orders?partitions=1&record=1%3A5", "dark", "document.querySelector('dialog pre')"),
        ("group", "#/groups/warehouse", "light", "document.querySelector('.picture')"),
        ("batches", "#/topics/orders/partitions/1", "dark", "main.textContent.includes('control')"),
    ],
    ids=["topics", "records", "record", "group", "batches"],
)
def test_a_picture(tab: Tab, directory: Path, name: str, view: str, scheme: str, ready: str) -> None:
    tab.size(WIDTH, HEIGHT)
    tab.scheme(scheme)
    tab.run(HISTORY)
    settle(tab, view)
    tab.wait(ready)
    tab.run(RESET)
    file = directory / f"console-{name}.png"
    tab.picture(file)
    picture = file.read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(picture[16:20]) == WIDTH
    assert len(picture) > 20_000
