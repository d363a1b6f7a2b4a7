"""The queries of the dashboard and the alerts, in a real Prometheus that scrapes a broker while clients use it."""

import contextlib
import json
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from odradek.testing import InProcessBroker
from support.debian import program_or_skip
from support.pages import only_block

from .steady_load import SteadyLoad

ROOT = Path(__file__).parents[3]
RULES = ROOT / "conf" / "prometheus-alerts.yaml"
DASHBOARD = ROOT / "conf" / "grafana-dashboard.json"
RULE_TESTS = Path(__file__).parent / "alerts.test.yaml"
PATIENCE_S = 60
CONFIGURATION = f"""
global: {{scrape_interval: 4s, evaluation_interval: 1s}}
rule_files: [{RULES}]
{only_block("docs/metrics.md", "Prometheus and Grafana", "yaml").text}
"""
LAG_OVER_BROKERS = re.compile(r"^    (max by \(topic, partition\) \(kafka_log_log_logendoffset\) .*)$", re.MULTILINE)

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    """Debian's package."""
    program_or_skip("prometheus", "prometheus", is_complete=shutil.which("promtool") is not None)


def promtool(*arguments: object) -> None:
    run = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_rules_are_valid_and_fire() -> None:
    promtool("check", "rules", RULES)
    promtool("test", "rules", RULE_TESTS)


class Prometheus:
    """A Prometheus that scrapes one broker."""

    def __init__(self, directory: Path, port: int) -> None:
        configuration = directory / "prometheus.yml"
        assert ":9404" in CONFIGURATION
        configuration.write_text(CONFIGURATION.replace(":9404", f":{port}"))
        promtool("check", "config", configuration)
        command = ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={directory / 'data'}"]
        self.process = subprocess.Popen(
            [*command, "--web.listen-address=127.0.0.1:0"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        assert self.process.stderr is not None
        said = ""
        for line in self.process.stderr:
            said += line
            if "Server is ready" in line:
                break
        listening = re.search(r'msg="Listening on" address=(127\.0\.0\.1:\d+)', said)
        assert listening is not None, f"it does not listen:\n{said}"
        self.address = listening[1]

    def get(self, path: str, **parameters: str) -> Any:
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            return json.load(answer)["data"]

    def has_data(self, expression: str) -> bool:
        """Whether a query has a result that is a number."""
        return any(one["value"][1] != "NaN" for one in self.get("query", query=expression)["result"])

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.stderr is not None
        self.process.stderr.close()
        self.process.wait()


@pytest.fixture
def prometheus(kafka: InProcessBroker, tmp_path: Path) -> Iterator[Prometheus]:
    (port,) = kafka.ports() - {kafka.port}
    running = Prometheus(tmp_path, port)
    yield running
    running.stop()


def expressions_of_the_dashboard() -> list[str]:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    found = [target["expr"] for panel in panels for target in panel["targets"]]
    return [one.replace("$__rate_interval", "10s").replace("$instance", ".*") for one in found]


def fail_a_request(kafka: InProcessBroker, consumer: Consumer) -> None:
    """Makes the broker answer a request with an error."""
    kafka.faults.fail("OffsetFetch", "UNKNOWN_SERVER_ERROR", client_id="others")
    with contextlib.suppress(KafkaException):
        consumer.committed([TopicPartition("orders", 0)], PATIENCE_S)


@pytest.mark.kafka(topics="orders:6", configs={"odradek.metrics.listener": "127.0.0.1:0"})
def test_every_query_has_data(kafka: InProcessBroker, prometheus: Prometheus) -> None:
    rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
    assert len(rules) == RULES.read_text().count("- alert: ")
    # An alert has no data if nothing is wrong, but the metric that it compares must have data.
    queries = [re.sub(r"\[\d+m\]", "[10s]", rule["query"]) for rule in rules]
    compared = [re.split(r" (?:==|<|>) ", query)[0] for query in queries]
    on_the_page = LAG_OVER_BROKERS.findall((ROOT / "docs" / "metrics.md").read_text())
    assert len(on_the_page) == 1
    waiting = {*expressions_of_the_dashboard(), *compared, *on_the_page}
    other = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "others", "client.id": "others"})
    with SteadyLoad(kafka.bootstrap_servers, "orders") as load:
        while waiting:
            fail_a_request(kafka, other)
            waiting = {one for one in waiting if not prometheus.has_data(one)}
    other.close()
    assert load.produced > 1_000
    assert load.transactions > 10
    assert all(load.consumed.values()), load.consumed
    [[_, scraped]] = [one["value"] for one in prometheus.get("query", query="min_over_time(up[10m])")["result"]]
    assert scraped == "1"
