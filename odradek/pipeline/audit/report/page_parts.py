"""Pieces of the page: numbers, bars, the chart of volume.

Pure. Every text is escaped here. Numbers are shown rounded; `title` (shown on hover) and `data-value` have the exact
number.
"""

from collections.abc import Iterable, Sequence
from html import escape

from .figures import Bar, Period
from .number_texts import bytes_text, count_text, duration_text

CHART_WIDTH, CHART_HEIGHT = 960, 180


FORMATS = {"bytes": bytes_text, "count": count_text, "duration": duration_text}


def number(value: float, kind: str = "count") -> str:
    """A number rounded for reading, with the exact one in `title` and `data-value`."""
    return f'<span data-value="{value}" title="{value}">{escape(FORMATS[kind](value))}</span>'


def table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table. Headings are plain texts, cells are HTML. The first cell of a row is its heading."""
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    body = "".join(
        f'<tr><th scope="row">{cells[0]}</th>{"".join(f"<td>{cell}</td>" for cell in cells[1:])}</tr>' for cells in rows
    )
    caption = f"<caption>{escape(caption)}</caption>"
    return f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def bars(caption: str, what: str, unit: str, plot: Sequence[Bar], facts: Sequence[tuple[str, str, str]]) -> str:
    """A plot of bars in a table. `facts`: (name in the bar, heading, kind of number)."""
    if not plot:
        return '<p class="none">Nothing to show.</p>'
    longest = max(bar.value for bar in plot) or 1
    rows = []
    for bar in plot:
        width = round(100 * bar.value / longest, 1)
        line = f'<span class="track" aria-hidden="true"><span class="bar" style="width:{width}%"></span></span>'
        drawn = line + number(bar.value, unit)
        cells = [number(bar.facts[name], kind) for name, _, kind in facts]
        rows.append([escape(bar.label), f'<div class="bars">{drawn}</div>', *cells])
    return table(caption, ["", what, *(heading for _, heading, _ in facts)], rows)


def volume_chart(periods: Sequence[Period]) -> str:
    """Bytes by day or month as SVG, and the same as a collapsed table."""
    if not periods:
        return '<p class="none">No record has a time.</p>'
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
    axis = f'<p class="axis"><span>{escape(periods[0].name)}</span><span>{escape(periods[-1].name)}</span></p>'
    rows = [[escape(period.name), number(period.size, "bytes"), number(period.records)] for period in periods]
    details = f"<details><summary>As a table</summary>{table(summary, ['', 'bytes', 'records'], rows)}</details>"
    return f"<p>{escape(summary)}</p>{chart}{axis}{details}"
