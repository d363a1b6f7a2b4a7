"""``make site``: copies the pages of the repository to ``build/pages``, adds those made from the code, runs MkDocs.

The folders stay as they are in the repository, so links between pages stay as they are, too. A link to another file
leads to the repository on the web, if its address is in the environment variable ``SITE_REPOSITORY``; otherwise it
becomes plain text. ``mkdocs.yml`` has the order of the pages; an entry that ends in a slash stands for a folder.
"""

import json
import logging
import os
import re
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

from mkdocs.commands.build import build
from mkdocs.config import load_config
from pygments.formatters import HtmlFormatter

from ..places import ROOT
from . import command_pages, key_pages
from .markdown_of_mkdocs import slug, with_links, with_wide_lists

PAGES = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md")]
BRANCH = "main"


def pages() -> list[Path]:
    """The pages of the repository that the site has."""
    return [*PAGES, *sorted((ROOT / "docs").rglob("*.md"))]


def make_site(directory: Path, repository: str | None) -> Path:
    """Builds the site in ``directory/site`` and returns that. Raises ``mkdocs.exceptions.Abort`` if MkDocs warns."""
    written, site = directory / "pages", directory / "site"
    for old in (written, site):
        shutil.rmtree(old, ignore_errors=True)
    _copy_pages(written, repository)
    _write_reference(written)
    config = load_config(str(ROOT / "mkdocs.yml"), docs_dir=str(written), site_dir=str(site), strict=True)
    config.mdx_configs["toc"]["slugify"] = slug
    config.nav = _expanded(config.nav, written)
    build(config)
    _turn_index_into_script(site / "search")
    return site


def _turn_index_into_script(directory: Path) -> None:
    """A page that is opened from disk may load a script, but no JSON and no worker (``theme/search/main.js``)."""
    index = directory / "search_index.json"
    found = searchable(json.loads(index.read_text())["docs"])
    (directory / "search_index.js").write_text(f"window.searchIndex = {json.dumps(found)};\n")
    index.unlink()
    (directory / "worker.js").unlink()


def searchable(entries: list[dict[str, str]]) -> list[dict[str, str]]:
    """MkDocs' entries for the search, in which each page has one: MkDocs has another for the page's first heading.

    A page has the title of its first heading. The sign of a link to a heading is left out.
    """
    kept: list[dict[str, str]] = []
    is_page = False
    for entry in entries:
        if is_page:
            kept[-1]["title"] = entry["title"]
        else:
            kept.append({**entry, "text": entry["text"].replace(" \u00b6", "").replace("\u00b6", "")})
        is_page = "#" not in entry["location"]
    return kept


def _copy_pages(directory: Path, repository: str | None) -> None:
    known = set(pages())
    images = {path for path in (ROOT / "docs").rglob("*") if path.suffix in (".png", ".svg")}
    for page in pages():
        text = with_links(page.read_text(), partial(_address, page, known | images, repository))
        _write(directory / page.relative_to(ROOT), with_wide_lists(text))
    for image in images:
        copy = directory / image.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(image.read_bytes())
    for name, style in (("code.css", "default"), ("code-dark.css", "github-dark")):
        _write(directory / name, HtmlFormatter(style=style).get_style_defs(".codehilite"))


def _address(page: Path, known: set[Path], repository: str | None, target: str) -> str | None:
    """Where a link of the page leads in the site. None if it leads to a file that has no address."""
    name, _, anchor = target.partition("#")
    path = (page.parent / name).resolve()
    if path in known:
        return target
    if path / "README.md" in known:
        return f"{name.rstrip('/')}/README.md" + (f"#{anchor}" if anchor else "")
    if not path.exists():
        raise FileNotFoundError(f"{page}: {target}")
    if repository is None:
        return None
    return f"{repository}/{'tree' if path.is_dir() else 'blob'}/{BRANCH}/{path.relative_to(ROOT).as_posix()}"


def _write_reference(directory: Path) -> None:
    _write(directory / "commands" / "README.md", command_pages.index())
    for name, text in command_pages.command_pages().items():
        _write(directory / "commands" / f"{name}.md", text)
    _write(directory / "keys" / "README.md", key_pages.index())
    for name, (_, text) in key_pages.key_pages().items():
        _write(directory / "keys" / f"{name}.md", text)


def _expanded(nav: Any, directory: Path) -> Any:
    """The order of the pages, with the pages of a folder for each entry that ends in a slash."""
    if isinstance(nav, list):
        return [_expanded(one, directory) for one in nav]
    if isinstance(nav, dict):
        return {title: _expanded(one, directory) for title, one in nav.items()}
    if nav.endswith("/"):
        found = sorted((directory / nav).glob("*.md"), key=_place)
        return [path.relative_to(directory).as_posix() for path in found]
    return nav


def _place(path: Path) -> tuple[bool, int, str]:
    """The place of a page in its folder: README.md first, then by number, then by name."""
    number = re.match(r"\d+", path.name)
    return path.name != "README.md", int(number[0]) if number else 0, path.name


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    print(make_site(Path(sys.argv[1]), os.environ.get("SITE_REPOSITORY") or None))
