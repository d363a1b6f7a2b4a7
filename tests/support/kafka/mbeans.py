"""The MBeans of a real Kafka in the form of Prometheus' JMX exporter, and the metrics of a broker of ours.

with MBeans() as beans:
    beans.metrics(kafka.running_pid)
    metrics_of(ours)
"""

import math
import re
import urllib.request
from collections.abc import Iterator, Mapping

from prometheus_client.parser import text_string_to_metric_families

from support.brokers.our_broker import OurBroker
from support.kafka.java_program import JavaProgram

TIMEOUT_S = 60
METRICS = {"odradek.metrics.listener": "127.0.0.1:0"}
"""The configuration of a broker of ours that serves its metrics."""
Labels = frozenset[tuple[str, str]]
Metric = tuple[str, Labels]
Metrics = dict[Metric, float]
"""Name and labels -> value."""


class MBeans(JavaProgram):
    """A program that reads MBeans from running processes."""

    NAME = "MBeans"

    def metrics(self, pid: int) -> Metrics:
        """The gauges of a Kafka, the counts of its meters and the numbers of its own metrics library, by the names of
        the exporter's usual rules."""
        found: Metrics = {}
        for bean, attributes in self.order(pid).items():
            domain, _, keys = bean.partition(":")
            labels = dict(part.split("=", 1) for part in keys.split(",") if "=" in part)
            kind, name = labels.pop("type", ""), labels.pop("name", "")
            tags = frozenset((key, text.strip('"')) for key, text in labels.items())
            if name:
                stem = metric_name(domain, kind, name.removesuffix("PerSec").removesuffix("Percent"))
                found.update(((stem + suffix, tags), value) for suffix, value in self._of_meter(name, attributes))
            else:
                for attribute, value in attributes.items():
                    found[metric_name(domain, kind, attribute), tags] = float(value)
        return found

    def _of_meter(self, name: str, attributes: Mapping[str, float]) -> Iterator[tuple[str, float]]:
        """What follows the name of the metric of a meter or a gauge, and its value; nothing for other kinds."""
        if name.endswith("Percent"):
            yield "_percent", attributes.get("Value", attributes.get("MeanRate", math.nan))
        elif "Value" in attributes:
            yield "", attributes["Value"]
        elif "Count" in attributes and name.endswith("PerSec"):
            yield "_total", attributes["Count"]


def metric_name(*words: str) -> str:
    """The name of a metric that consists of these words of an MBean."""
    return re.sub(r"\W", "_", "_".join(words)).lower()


def metrics_of(broker: OurBroker) -> Metrics:
    """The metrics of a broker of ours that was started with :data:`METRICS`."""
    address = broker.log().rpartition("metrics at ")[2].split()[0]
    with urllib.request.urlopen(address, timeout=TIMEOUT_S) as answer:
        text = answer.read().decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
