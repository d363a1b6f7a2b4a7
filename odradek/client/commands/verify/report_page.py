"""The result of ``odradek verify`` as one HTML page, with the latencies as SVG.

Pure. The page needs no other file and has no script. All texts are escaped here.
"""

from html import escape
from math import ceil, floor, log10

from ..latencies import LatencySeries
from .report import Report, finding_line, heading, latency_line, verdict

WIDTH, HEIGHT, LEFT, BOTTOM, RIGHT = 940, 320, 70, 30, 20
"""Pixels: the plot's width and height, and the margins for the axes (left, bottom) and half of the last label (right).
"""
LINES = (("max", "#c33"), ("99th", "#d80"), ("50th", "#27c"))
"""The series of the plot and their colours, highest values first."""
TICKS = 10
STEPS_S = (0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)
"""Possible distances between two labels of the time axis, in seconds."""
LOWEST_MS = 0.1
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse}td,th{padding:.1rem 1rem .1rem 0;text-align:left}td{text-align:right}"
    "svg{width:100%;height:auto}svg text{font-size:12px;fill:#555}pre{overflow-x:auto;line-height:1.2}"
    ".ok{color:#060}.failed{color:#a00}"
)


def page(report: Report) -> str:
    """The whole HTML document."""
    mood = "failed" if report.findings else "ok"
    counts = "".join(
        f'<tr><th scope="row">{escape(text)}</th><td>{count:,}</td></tr>' for text, count in report.counts.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>odradek verify: {escape(report.topic)}</title><style>{STYLE}</style></head><body>"
        f"<h1>odradek verify</h1><p>{escape(heading(report))}</p>"
        f'<p class="{mood}"><strong>{escape(verdict(report))}</strong></p>{_findings(report)}'
        f"<h2>Records</h2><table>{counts}</table>{_latencies(report)}</body></html>\n"
    )


def _findings(report: Report) -> str:
    texts = []
    for finding in report.findings:
        examples = "".join(f"<li>{escape(example)}</li>" for example in finding.examples)
        left = finding.count - len(finding.examples)
        more = f"<li>and {left:,} more</li>" if examples and left else ""
        texts.append(f"<h3>{escape(finding_line(finding))}</h3><ul>{examples}{more}</ul>")
    return "<h2>Findings</h2>" + "".join(texts) if texts else ""


def _latencies(report: Report) -> str:
    if not report.latencies.all.count:
        return ""
    histogram = escape("\n".join(report.latencies.all.histogram()))
    line = escape(latency_line(report))
    return f"<h2>End-to-end latency</h2><p>{line}</p>{plot(report.latencies)}<pre>{histogram}</pre>"


def plot(series: LatencySeries) -> str:
    """The SVG plot: latencies in ms on a logarithmic axis, over the send time in seconds since the run's start."""
    points = sorted(series.points.items())
    first, last = points[0][0], points[-1][0]
    lowest = min(latencies.percentiles(0.5)[0] for _, latencies in points)
    bottom = 10.0 ** floor(log10(max(lowest, LOWEST_MS)))
    top = 10.0 ** max(ceil(log10(max(series.all.max_ms, LOWEST_MS))), log10(bottom) + 1)

    def x_of(at: float) -> float:
        return LEFT + (at - first) / (last + 1 - first) * (WIDTH - LEFT)

    def y_of(ms: float) -> float:
        share = log10(max(ms, bottom) / bottom) / log10(top / bottom)
        return (HEIGHT - BOTTOM) * (1 - share) + 6

    labelled = _ticks(first * series.width_s, (last + 1) * series.width_s)
    times = [(x_of(seconds / series.width_s), seconds) for seconds in labelled]
    drawn = [_axes(bottom, top, times, y_of(bottom))]
    for name, colour in LINES:
        dots = []
        for at, latencies in points:
            p50, p99 = latencies.percentiles(0.5, 0.99)
            ms = {"max": latencies.max_ms, "99th": p99, "50th": p50}[name]
            title = escape(f"{at * series.width_s:g} s: {name} {ms:.1f} ms of {latencies.count:,} records")
            radius = 3.5 if name == "max" else 2
            place = f'cx="{x_of(at + 0.5):.1f}" cy="{y_of(ms):.1f}"'
            dots.append(f'<circle {place} r="{radius}"><title>{title}</title></circle>')
        drawn.append(f'<g fill="{colour}">{"".join(dots)}</g>')
    key = "".join(
        f'<circle cx="{LEFT + 20 + 80 * at}" cy="{HEIGHT + 20}" r="4" fill="{colour}"/>'
        f'<text x="{LEFT + 30 + 80 * at}" y="{HEIGHT + 24}">{name}</text>'
        for at, (name, colour) in enumerate(LINES)
    )
    label = "End-to-end latency in ms, by the second of the run in which the records were sent"
    return (
        f'<svg viewBox="0 0 {WIDTH + RIGHT} {HEIGHT + 30}" role="img" aria-label="{label}">{"".join(drawn)}{key}</svg>'
        f"<p>{label}. A gap: no record of that time was read.</p>"
    )


def _ticks(first_s: float, last_s: float) -> list[float]:
    """The times (seconds) that get a label: at most ``TICKS`` multiples of a step in ``STEPS_S``.

    A longer run uses TICKS times the largest step.
    """
    step = next((step for step in STEPS_S if (last_s - first_s) / step < TICKS), STEPS_S[-1] * TICKS)
    return [number * step for number in range(ceil(first_s / step), floor(last_s / step) + 1)]


def _axes(bottom: float, top: float, times: list[tuple[float, float]], floor_y: float) -> str:
    """The SVG of the axes: a line for each power of ten ms, and a label for each of ``times`` (x, seconds)."""
    decades = round(log10(top / bottom))
    lines = [f'<line x1="{x:.1f}" x2="{x:.1f}" y1="6" y2="{floor_y:.1f}" stroke="#eee"/>' for x, _ in times]
    for power in range(decades + 1):
        y = (HEIGHT - BOTTOM) * (1 - power / decades) + 6
        lines.append(
            f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{bottom * 10**power:,g} ms</text>'
        )
    labels = [
        f'<text x="{x:.1f}" y="{floor_y + 16:.1f}" text-anchor="middle">{seconds:g} s</text>' for x, seconds in times
    ]
    return "".join(lines + labels)
