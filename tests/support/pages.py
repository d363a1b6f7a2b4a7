"""The blocks of code on our pages, and the commands in them."""

import re
import textwrap
from dataclasses import dataclass

from support.pipeline.wheel import ROOT

INDENTED = "indented"
"""The language of a block without a fence."""
_FENCE = re.compile(r"^( *)```(\S*)$")
_COMMENT = re.compile(r"(?:^| {2,})#.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code, without its indentation. ``line``: where it begins on the page, from 1."""

    page: str
    heading: str
    language: str
    line: int
    text: str

    def commands(self) -> list[str]:
        """Its commands, without comments and with continued lines joined."""
        if self.language == "console":
            return [command for command, _ in self.dialogue()]
        lines = _COMMENT.sub("", self.text.replace("\\\n", " ")).splitlines()
        return [re.sub(r"  +", " ", line).strip() for line in lines if line.strip()]

    def dialogue(self) -> list[tuple[str, list[str]]]:
        """The commands of a console, which follow ``$``, each with the lines that it prints."""
        found: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            else:
                found[-1][1].append(line)
        return found


def pages() -> list[str]:
    """README.md and the pages of docs/ and its folders."""
    return ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]


def blocks(page: str, heading: str | None = None) -> list[Block]:
    """The blocks of a page, in order; with ``heading`` those directly below that heading."""
    lines = (ROOT / page).read_text().splitlines()
    found: list[Block] = []
    below = ""
    at = 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        first, is_after_text = at, at > 0 and lines[at - 1].strip() != ""
        at += 1
        if opening:
            at = lines.index(f"{opening[1]}```", at) + 1
            body, language = lines[first + 1 : at - 1], opening[2]
        elif lines[first].startswith("    ") and not is_after_text:
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at].strip()):
                at += 1
            body, language = lines[first:at], INDENTED
        else:
            if lines[first].startswith("#"):
                below = lines[first].lstrip("# ")
            continue
        text = textwrap.dedent("\n".join(body)).strip("\n") + "\n"
        found.append(Block(page, below, language, first + 1, text))
    return [one for one in found if heading in (None, one.heading)]


def only_block(page: str, heading: str, language: str) -> Block:
    """The one block of a language below a heading."""
    (one,) = [block for block in blocks(page, heading) if block.language == language]
    return one
