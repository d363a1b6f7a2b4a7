"""What MkDocs reads in another way than GitHub: links out of the site, what is in a list, and anchors.

Pure functions over the text of a page. The pages are written for GitHub (CommonMark with tables). MkDocs uses
Python-Markdown, which wants four spaces for each level of a list and knows no fence inside one.
"""

import re
from collections.abc import Callable
from itertools import groupby

from markdown_it import MarkdownIt
from markdown_it.token import Token

LEVEL_SPACES = 4
CODE = ("fence", "code_block")
LISTS = ("bullet_list_open", "ordered_list_open")
BETWEEN = "<!-- -->"
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def slug(heading: str, separator: str) -> str:
    """The anchor of a heading, as GitHub makes it: Python-Markdown would make one hyphen of two."""
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", separator)


def with_links(page: str, address: Callable[[str], str | None]) -> str:
    """The page with each relative link replaced by its ``address``. A link without one becomes its text.

    Blocks of code stay as they are; code in the text of a link is a part of the link.
    """

    def replaced(link: re.Match[str]) -> str:
        text, target = link.groups()
        if re.match(r"[a-z]+:|#", target):
            return link[0]
        found = address(target)
        return text if found is None else f"[{text}]({found})"

    code = {line for block in _parsed(page) if block.type in CODE and block.map for line in range(*block.map)}
    parts = groupby(enumerate(page.split("\n")), key=lambda numbered: numbered[0] in code)
    texts = ((is_code, "\n".join(line for _, line in numbered)) for is_code, numbered in parts)
    return "\n".join(text if is_code else _LINK.sub(replaced, text) for is_code, text in texts)


def with_wide_lists(page: str) -> str:
    """The page with four spaces for each level of a list, indented code for the fences in it, and an empty line before
    what Python-Markdown would otherwise take for more of the paragraph above.
    """
    lines = page.split("\n")
    more = [0] * len(lines)
    after_empty_line = set()
    for token in _parsed(page):
        if token.map is None:
            continue
        first, end = token.map
        has_gaps = not all(line.strip() for line in lines[first : end - 1])
        if token.type == "list_item_open":
            column = _content_column(lines[first])
            for number in range(first + 1, end):
                if _column(lines[number]) >= column:
                    more[number] += LEVEL_SPACES - (column - _column(lines[first]))
        if token.type in LISTS and (token.level == 0 or has_gaps):
            after_empty_line.add(first)
        if token.type in LISTS and has_gaps:
            after_empty_line.update(_items(page, token))
    _indent_fences(page, lines, more)
    parts = []
    for number, (extra, line) in enumerate(zip(more, lines, strict=True)):
        is_joined = number in after_empty_line and lines[number - 1].strip()
        parts.append(("\n" if is_joined else "") + (" " * extra + line if line.strip() else line))
    return "\n".join(parts)


def _items(page: str, of_list: Token) -> list[int]:
    """The first line of each item of a list."""
    assert of_list.map is not None
    inside = range(*of_list.map)
    level = of_list.level + 1
    return [
        one.map[0]
        for one in _parsed(page)
        if one.type == "list_item_open" and one.map and one.level == level and one.map[0] in inside
    ]


def _indent_fences(page: str, lines: list[str], more: list[int]) -> None:
    """Makes indented code of the fences in lists. A comment keeps two in a row from becoming one."""
    last_end = None
    for fence in _parsed(page):
        if fence.type == "fence" and fence.level and fence.map:
            first, end = fence.map
            follows = last_end is not None and not any(line.strip() for line in lines[last_end:first])
            indentation = " " * _column(lines[first])
            lines[first] = f"{indentation}{BETWEEN}\n" if follows else ""
            lines[end - 1] = ""
            for number in range(first + 1, end - 1):
                more[number] += LEVEL_SPACES
            last_end = end


def _column(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _content_column(line: str) -> int:
    """The column after the marker of the last list item that begins in the line."""
    marker = re.match(r" *(?:[-*+]|\d+\.) +", line)
    assert marker is not None, line
    return marker.end()


def _parsed(page: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page)
