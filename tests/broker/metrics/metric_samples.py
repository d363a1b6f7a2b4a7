"""Reads the metrics of a broker in the test's process."""

import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from odradek.testing import InProcessBroker

PATIENCE_S = 60
Samples = dict[tuple[str, ...], float]


def samples_in(text: str) -> Samples:
    """Every sample of an exposition: (name, label values in the order of the labels' names) -> value."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def samples_of(kafka: InProcessBroker) -> Samples:
    """Every sample of the broker's metrics now."""
    (port,) = kafka.ports() - {kafka.port}
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S) as answer:
        return samples_in(answer.read().decode())
