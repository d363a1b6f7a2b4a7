"""Metric families in pieces, so that one turn of the event loop reads and encodes a bounded number of samples.

Owns: the size of a piece. Never does: I/O. Invariant: the pieces of a family are consecutive, and only the first has
its HELP and TYPE lines. Source: Prometheus' exposition formats, which require all samples of a family together.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

SAMPLES_A_PIECE = 64
"""The most samples in one piece. Reading and encoding them takes about 0.5 ms."""


class MetricsSource(Protocol):
    """A source of metrics."""

    def pieces(self) -> Iterator[Metric]:
        """All metrics with their current values. Consecutive metrics of one name are one family."""


class JoinedSources:
    """Several sources, one after the other."""

    def __init__(self, *sources: MetricsSource) -> None:
        self._sources = sources

    def pieces(self) -> Iterator[Metric]:
        """The metrics of all sources, with their current values."""
        for source in self._sources:
            yield from source.pieces()


class Sample(NamedTuple):
    """The labels of a sample and its value."""

    labels: Sequence[str]
    value: float


def in_pieces(new_family: Callable[[], Any], samples: Iterable[Sample]) -> Iterator[Metric]:
    """A family in pieces; one without samples is one empty piece. ``new_family`` makes an empty metric family."""
    family = new_family()
    count = 0
    for labels, value in samples:
        if count == SAMPLES_A_PIECE:
            yield family
            family, count = new_family(), 0
        family.add_metric(labels, value)
        count += 1
    yield family


class _OneMetric(Collector):
    """A collector of one metric, for the encoders of prometheus_client."""

    def __init__(self, metric: Metric | None) -> None:
        self._metric = metric

    def collect(self) -> Iterable[Metric]:
        """The metric of this piece."""
        return () if self._metric is None else (self._metric,)


def encoded(source: MetricsSource, encode: Callable[[Collector], bytes]) -> Iterator[bytes]:
    """The bytes of an exposition, piece by piece. ``encode``: an encoder of prometheus_client."""
    end = encode(_OneMetric(None))  # "# EOF" of OpenMetrics
    last: str | None = None
    for metric in source.pieces():
        lines = encode(_OneMetric(metric)).removesuffix(end)
        if metric.name == last:
            # A label's line breaks are escaped, so only comments begin with "#".
            lines = b"".join(line for line in lines.splitlines(keepends=True) if not line.startswith(b"#"))
        last = metric.name
        yield lines
    yield end
