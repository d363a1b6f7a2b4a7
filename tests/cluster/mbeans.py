"""The MBeans of a real Kafka in the form of Prometheus' JMX exporter, and the metrics of a broker of ours.

with MBeans() as beans:
    beans.metrics(kafka.running_pid)
    metrics_of(ours)
"""

import re
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from support.brokers.our_broker import OurBroker
from support.kafka.java_program import JavaProgram

TIMEOUT_S = 60
METRICS = {"odradek.metrics.listener": "127.0.0.1:0"}
"""The configuration of a broker of ours that serves its metrics."""
Labels = frozenset[tuple[str, str]]
Metrics = dict[tuple[str, Labels], float]
"""Name and labels -> value."""


class MBeans(JavaProgram):
    """A program that reads MBeans from running processes."""

    NAME = "MBeans"

    def metrics(self, pid: int) -> Metrics:
        """The gauges of a Kafka and the counts of its meters, by the names of the exporter's usual rules."""
        found: Metrics = {}
        for bean, attributes in self.order(pid).items():
            domain, _, keys = bean.partition(":")
            labels = dict(part.split("=", 1) for part in keys.split(",") if "=" in part)
            words = [domain, labels.pop("type", ""), labels.pop("name", "")]
            if "Value" in attributes:
                suffix, value = "", attributes["Value"]
            elif "Count" in attributes and words[2].endswith("PerSec"):
                words[2] = words[2].removesuffix("PerSec")
                suffix, value = "_total", attributes["Count"]
            else:
                continue
            name = re.sub(r"\W", "_", "_".join(words)).lower() + suffix
            found[name, frozenset(labels.items())] = value
        return found


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
