"""Latency counts give the same percentiles as the latencies themselves, and a histogram."""

import random
from math import isnan

import pytest

from odradek.client.commands.latencies import BAR_WIDTH, Latencies


@pytest.mark.parametrize("seed", range(20))
def test_percentiles_are_those_of_the_sorted_latencies(seed: int) -> None:
    """Seeded: the id of the test is the seed."""
    rng = random.Random(seed)
    latencies, all_ms = Latencies(), []
    for _ in range(rng.randrange(1, 400)):
        latency_ms, count = 10 ** rng.uniform(-3, 5), rng.randrange(1, 4)
        latencies.add(latency_ms, count)
        all_ms += [latency_ms] * count
    all_ms.sort()
    for part in (0.0, 0.5, 0.95, 0.99, 0.999):
        [found] = latencies.percentiles(part)
        exact = all_ms[int(part * len(all_ms))]
        assert found <= exact <= found * (1 + 1 / 512) + 0.001, part
    assert latencies.max_ms == all_ms[-1]
    assert latencies.mean_ms == pytest.approx(sum(all_ms) / len(all_ms))


def test_without_latencies_there_is_nothing_to_show() -> None:
    latencies = Latencies()
    assert (latencies.histogram(), latencies.percentiles(0.5)) == ([], [0.0])
    assert isnan(latencies.mean_ms)


def test_a_histogram_has_a_row_for_each_bound_between_the_lowest_and_the_highest() -> None:
    latencies = Latencies()
    for latency_ms, count in ((0.7, 100), (1.0, 60), (3, 40), (400_000, 1), (-2, 1)):
        latencies.add(latency_ms, count)
    lines = [line.split() for line in latencies.histogram() if "%" in line]
    assert lines[0][:3] == ["<=", "0.1", "ms"]
    shown = {line[1]: (line[-3], line[-2]) for line in lines[:-1]}
    assert shown["1"] == ("160", "79.70")
    assert shown["5"] == ("40", "99.50")
    assert shown["20"] == ("0", "99.50")
    assert lines[-1][0] == "more"
    assert lines[-1][-3:] == ["1", "100.00", "%"]
    widest = max(latencies.histogram(), key=lambda line: line.count("█"))
    assert widest.count("█") == BAR_WIDTH
