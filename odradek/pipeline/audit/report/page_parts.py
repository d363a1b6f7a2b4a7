"""Pieces of the page: numbers, bars, the chart of volume.

Pure. Every text is escaped here. Numbers are shown rounded; `title` (shown on hover) and `data-value` have the exact
number.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from types import MappingProxyType

from .figures import Bar, Period
from .number_texts import bytes_text, count_text, duration_text

CHART_WIDTH, CHART_HEIGHT = 960, 180
SHOWN_NAMES = 4
"""With more periods, the axis also names the middle one."""
_PASSWORD = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@'\"<>]*):[^\s/@'\"<>]+@")

FORMATS = {"bytes": bytes_text, "count": count_text, "duration": duration_text}


def number(value: float, kind: str = "count") -> str:
    """A number rounded for reading, with the exact one in `title` and `data-value`."""
    return f'<span data-value="{value}" title="{value}">{escape(FORMATS[kind](value))}</span>'


def table(
    caption: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    below: Mapping[int, str] = MappingProxyType({}),
) -> str:
    """A table. Headings are plain texts, cells are HTML. The first cell of a row is its heading.

    `below`: HTML below the heading of a column.
    """
    head = "".join(
        f'<th scope="col">{escape(heading)}{below.get(index, "")}</th>' for index, heading in enumerate(headings)
    )
    body = "".join(
        f'<tr><th scope="row">{cells[0]}</th>{"".join(f"<td>{cell}</td>" for cell in cells[1:])}</tr>' for cells in rows
    )
    caption = f"<caption>{escape(caption)}</caption>"
    return f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def bars(caption: str, what: str, unit: str, plot: Sequence[Bar], facts: Sequence[tuple[str, str, str]]) -> str:
    """A plot of bars in a table, with an axis from 0 to the longest. "" without bars.

    `facts`: (name in the bar, heading, kind of number). Bars of the same length would show nothing, so they are left
    out, and the table has only the numbers.
    """
    if not plot:
        return ""
    longest = max(bar.value for bar in plot) or 1
    is_drawn = len({bar.value for bar in plot}) > 1
    rows = []
    for bar in plot:
        width = round(100 * bar.value / longest, 1)
        line = f'<span class="track" aria-hidden="true"><span class="bar" style="width:{width}%"></span></span>'
        drawn = (line if is_drawn else "") + number(bar.value, unit)
        cells = [number(bar.facts[name], kind) for name, _, kind in facts]
        rows.append([escape(bar.label), f'<div class="bars">{drawn}</div>', *cells])
    if is_drawn:
        ticks = "".join(f"<span>{escape(FORMATS[unit](longest * part / 2))}</span>" for part in range(3))
        caption_axis = f'<div class="scale" aria-hidden="true">{ticks}</div>'
    else:
        caption_axis = ""
    return table(caption, ["", what, *(heading for _, heading, _ in facts)], rows, {1: caption_axis})


def volume_chart(periods: Sequence[Period]) -> str:
    """Bytes by day or month as SVG with axes, and the same as a collapsed table. "" if no record has a time.

    A single day or month is a sentence.
    """
    if not periods:
        return ""
    if len(periods) == 1:
        [only] = periods
        return f"<p>{bytes_text(only.size)} and {count_text(only.records)} records, all of {escape(only.name)}.</p>"
    highest = max(period.size for period in periods) or 1
    width = CHART_WIDTH / len(periods)
    drawn = []
    for index, period in enumerate(periods):
        height = max(round(CHART_HEIGHT * period.size / highest, 1), 0.5)
        title = escape(f"{period.name}: {bytes_text(period.size)}, {count_text(period.records)} records")
        drawn.append(
            f'<rect x="{index * width:.2f}" y="{CHART_HEIGHT - height:.1f}" width="{max(width - 1, 0.6):.2f}" '
            f'height="{height}"><title>{title}</title></rect>'
        )
    summary = f"Bytes written from {periods[0].name} to {periods[-1].name}, at most {bytes_text(highest)}"
    chart = (
        f'<svg class="chart" viewBox="0 0 {CHART_WIDTH} {CHART_HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(summary)}">{"".join(drawn)}</svg>'
    )
    middle = periods[len(periods) // 2].name
    names = [periods[0].name, *([middle] if len(periods) > SHOWN_NAMES else []), periods[-1].name]
    axis = f'<p class="axis">{"".join(f"<span>{escape(name)}</span>" for name in names)}</p>'
    ticks = "".join(f"<span>{escape(bytes_text(highest * part / 2))}</span>" for part in (2, 1, 0))
    chart = f'<div class="plot"><div class="ticks" aria-hidden="true">{ticks}</div><div>{chart}{axis}</div></div>'
    rows = [[escape(period.name), number(period.size, "bytes"), number(period.records)] for period in periods]
    details = f"<details><summary>As a table</summary>{table(summary, ['', 'bytes', 'records'], rows)}</details>"
    return f"<p>{escape(summary)}</p>{chart}{details}"


def without_passwords(text: str) -> str:
    """The text with dots instead of the passwords in its URLs, as in ``s3://key:password@bucket``."""
    return _PASSWORD.sub("\\1:\u2026@", text)
