"""Every block of commands and every program on our pages is run by a test, or is listed here with a reason.

A new block on a page makes the first test fail until it is in the table, at its heading and in its order.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from support.pages import Block, blocks, pages
from support.pipeline.wheel import ROOT

from .test_programs import is_of_users

READ = {"text", "json", "xml"}
"""Languages of what programs print and read, not of programs."""


@dataclass(frozen=True, slots=True)
class NotRun:
    """The reason for a block that is not run."""

    reason: str


ANOTHER_PROGRAM = NotRun("the tests of a reader before the move, which need another package")
IMAGES_OF_KAFKA = NotRun(
    "pulls Apache Kafka's image; tests/docker/test_compose_cluster.py runs the services of the file without containers"
)
KUBERNETES = NotRun("needs a Kubernetes cluster; tests/docker/test_kubernetes.py checks the manifests")
MINUTES = NotRun("measures for minutes on an idle machine")
SPARK_NODES = NotRun(
    "installs on every node; the fixtures of tests/pipeline/spark/test_spark_cluster.py do the same with a wheel"
)
"""Reasons that several blocks have."""

COMMANDS = "tests/pages/test_command_line.py::test_the_commands_"
CLUSTER_PAGE = (
    "tests/cluster/test_operations_page.py::test_commands_of_the_page_replace_a_broker_and_move_its_partitions"
)
CONFIGURATIONS = "tests/pages/test_security.py::test_a_configuration_has_known_keys_and_valid_values"
FROM_NOTHING = "tests/clients/test_security_page.py::test_the_commands_of_the_page"
INSTALL = "tests/pages/test_install.py::test_"
JOBS = "tests/pipeline/test_pages.py::test_"
MOUNTED = "tests/docker/test_kubernetes_secured.py::test_"
NEW_BROKER = (
    "tests/cluster/test_operations_page.py::test_a_new_broker_joins_with_the_configuration_and_commands_of_the_page"
)
OPERATING = "tests/pages/test_operating.py::test_"
OVER_HTTP = "tests/testing/admin/test_page.py::test_the_"
PROGRAMS = "tests/pages/test_programs.py::test_the_tests_of_a_page_pass"
RECIPE = "tests/docker/test_recipes.py::test_a_recipe"
RECOVERY = "tests/pages/test_serving.py::test_the_disks_of_a_dead_broker_are_looked_at_read_and_served"
SERVING = "tests/pages/test_serving.py::test_"
SETTINGS = "tests/pages/test_security.py::test_certificates_are_changed_and_acls_and_quotas_set"
SPARK_AUDIT = "tests/pipeline/spark/test_spark_cluster.py::test_an_audit_on_the_cluster_equals_the_local_one"
STARTED = "tests/pages/test_getting_started.py::test_"
WITH_DOCKER = "tests/docker/test_pages.py::test_"

RUN: dict[str, dict[str, list[str | NotRun]]] = {
    "README.md": {
        "Two commands": [f"{INSTALL}make_run_installs_and_serves"],
        "Install": [f"{INSTALL}pip_installs_a_checkout", f"{INSTALL}make_builds_the_wheel_that_pip_installs"],
        "Quickstart": [
            f"{SERVING}it_serves_and_keeps_its_data_in_the_directory",
            *["tests/testing/test_wheel.py::test_the_quickstart_of_the_readme_runs"] * 2,
        ],
        "Brokers for tests": [PROGRAMS] * 2,
        "Docker": [f"{WITH_DOCKER}the_broker_is_built_and_serves", f"{WITH_DOCKER}the_jobs_are_built_and_audit"],
        "Jobs over log directories": [
            "tests/pages/test_commands.py::test_the_commands_and_jobs_of_the_readme",
            f"{JOBS}the_programs_for_spark",
        ],
        "Configuration": [f"{SERVING}it_serves_the_configuration_of_the_repository"],
        "The command line": ["tests/pages/test_commands.py::test_the_commands_and_jobs_of_the_readme"],
    },
    "docs/audit.md": {
        "Audit": [f"{JOBS}the_page_about_audits"] * 2,
        "Several directories": [f"{JOBS}an_audit_of_several_directories"],
        "Audits every hour": [f"{JOBS}an_audit_every_hour"],
        "The tables": [f"{JOBS}the_page_about_audits"],
        "From a notebook": ["tests/pipeline/audit/test_audit_frames.py::test_the_program_of_the_page"],
        "The records themselves": [f"{JOBS}the_programs_for_spark"],
    },
    "docs/benchmarks.md": {"Benchmarks": [MINUTES]},
    "docs/client.md": {
        "The asyncio client": ["tests/testing/test_wheel.py::test_the_first_program_of_the_page_about_the_client_runs"],
        "Transactions": ["tests/client/test_page.py::test_a_transaction_with_the_offsets_of_its_consumer"],
        "Share consumer (`odradek.client.share`)": ["tests/client/test_page.py::test_a_share_consumer"],
        "Security": ["tests/client/test_page.py::test_a_login"],
    },
    "docs/cluster.md": {
        "A cluster of three with Docker compose": [IMAGES_OF_KAFKA],
        "Start one broker": [NEW_BROKER] * 2,
        "Each broker": [CLUSTER_PAGE] * 2,
        "With new brokers instead": [CLUSTER_PAGE],
    },
    "docs/commands.md": {
        "Listeners with TLS or SASL": [f"{COMMANDS}with_a_login"],
        "odradek topics": [f"{COMMANDS}for_topics_groups_and_settings"],
        "Topics as a file": [f"{COMMANDS}for_topics_groups_and_settings"] * 2,
        "odradek produce": [f"{COMMANDS}for_topics_groups_and_settings"],
        "odradek consume": [f"{COMMANDS}for_topics_groups_and_settings"],
        "odradek groups": [f"{COMMANDS}for_topics_groups_and_settings", f"{COMMANDS}that_move_offsets"],
        "odradek share-groups": [f"{COMMANDS}that_move_offsets"],
        "odradek streams-groups": [f"{COMMANDS}that_move_offsets"] * 2,
        "odradek transactions": [f"{COMMANDS}that_move_offsets"],
        "odradek configs": [f"{COMMANDS}for_topics_groups_and_settings"] * 3,
        "odradek client-metrics": [f"{COMMANDS}for_topics_groups_and_settings"],
        "odradek doctor": [f"{COMMANDS}for_topics_groups_and_settings"],
        "odradek acls": [f"{COMMANDS}for_topics_groups_and_settings"],
        "odradek delegation-tokens": [f"{COMMANDS}with_a_login"],
        "odradek get-offsets": [f"{COMMANDS}for_topics_groups_and_settings"],
        "odradek log-dirs": [f"{COMMANDS}for_topics_groups_and_settings"],
        "odradek delete-records": [f"{COMMANDS}for_topics_groups_and_settings"],
        "odradek leader-election": [f"{COMMANDS}for_topics_groups_and_settings"],
        "odradek reassign-partitions": [f"{COMMANDS}for_topics_groups_and_settings"],
        "odradek streams-application-reset": [f"{COMMANDS}that_move_offsets"],
        "odradek perf": [f"{COMMANDS}that_measure_and_verify"],
        "odradek verify": [f"{COMMANDS}that_measure_and_verify"],
        "odradek dump-log": [f"{COMMANDS}that_read_files"] * 2,
        "odradek storage format": [f"{COMMANDS}that_read_files"],
        "odradek storage check": [f"{COMMANDS}that_read_files"],
        "odradek storage adopt": [RECOVERY],
        "odradek storage explain": [f"{COMMANDS}that_read_files"],
    },
    "docs/compaction.md": {"odradek compact": [f"{JOBS}the_pages_about_compaction_export_and_import"]},
    "docs/docker-and-kubernetes.md": {
        "The broker": [f"{WITH_DOCKER}the_broker_is_built_and_serves"],
        "An image from a wheel": [f"{WITH_DOCKER}an_image_from_a_wheel_serves"] * 2,
        "A broker with topics, for an afternoon": [RECIPE],
        "Data that outlives the container": [RECIPE],
        "Another port": [RECIPE],
        "With as few rights as possible": [RECIPE],
        "Metrics, a size limit, a log for machines": [RECIPE],
        "Another service that waits for the broker": [
            "tests/docker/test_recipes.py::test_another_service_waits_until_the_broker_serves"
        ],
        "Kubernetes": [KUBERNETES],
        "TLS and passwords": [f"{MOUNTED}the_commands_of_the_page"] * 4,
        "The jobs": [
            f"{WITH_DOCKER}the_jobs_are_built_and_audit",
            "tests/docker/test_jobs_image.py::test_the_compose_file_is_a_cluster_whose_workers_audit",
        ],
    },
    "docs/export.md": {
        "Export to Parquet": [f"{JOBS}the_pages_about_compaction_export_and_import"],
        "What is written": [f"{JOBS}the_programs_for_spark"],
        "Object storage": [f"{JOBS}the_page_about_audits"],
    },
    "docs/getting-started.md": {
        "Getting started with each client": [f"{SERVING}it_serves_and_keeps_its_data_in_the_directory"],
        "kafka-python": [f"{INSTALL}pip_installs_the_client_of_a_page", f"{STARTED}a_program_in_python"],
        "confluent-kafka": [f"{INSTALL}pip_installs_the_client_of_a_page", f"{STARTED}a_program_in_python"],
        "aiokafka": [f"{INSTALL}pip_installs_the_client_of_a_page", f"{STARTED}a_program_in_python"],
        "Odradek's own client": [f"{STARTED}a_program_in_python"],
        "Java": [f"{STARTED}the_program_in_java"],
        "Node": [f"{STARTED}the_program_for_node"] * 2,
        "Go": [f"{STARTED}the_program_in_go"] * 2,
        "The command line": [f"{STARTED}the_commands"],
    },
    "docs/developers/benchmarks.md": {"Benchmarks": [MINUTES]},
    "docs/kafka-answers.md": {
        "Ask another broker": ["tests/answers/test_replay.py::test_the_program_of_the_page_asks_a_broker"],
        "Record": [MINUTES],
    },
    "docs/developers/how-it-is-tested.md": {
        "Disks that fail, and crashes": [
            NotRun("fuzzes for minutes, by hand; tests/faults/test_fuzzed_inputs.py repeats inputs that it found")
        ]
    },
    "docs/import.md": {
        "Import: Parquet or JSON lines into a log directory": [f"{JOBS}the_pages_about_compaction_export_and_import"]
    },
    "docs/console.md": {"Console": [f"{SERVING}it_serves_the_console"]},
    "docs/metrics.md": {
        "Metrics": [f"{SERVING}it_serves_metrics"],
        "Prometheus and Grafana": ["tests/broker/metrics/test_prometheus.py::test_every_query_has_data"],
        "Lag of groups": ["tests/broker/metrics/test_prometheus.py::test_every_query_has_data"],
        "Metrics of clients": [f"{SERVING}it_shows_the_metrics_of_clients"] * 2,
    },
    "docs/moving-tests.md": {
        "From Testcontainers": [ANOTHER_PROGRAM, PROGRAMS],
        "From pytest-kafka": [ANOTHER_PROGRAM, PROGRAMS],
        "From librdkafka's mock cluster": [PROGRAMS],
        "From kfake, and other fakes in another language": [f"{SERVING}another_language_finds_the_address_in_the_file"],
    },
    "docs/operating.md": {
        "Install as a service": [f"{OPERATING}it_is_installed_upgraded_and_goes_back"],
        "Stop, start, upgrade": [f"{OPERATING}it_is_installed_upgraded_and_goes_back"],
        "Clients and a restart": ["tests/clients/test_restart_matrix.py::test_it_goes_on"],
        "While the broker runs": [f"{OPERATING}a_snapshot_is_taken_and_restored"] * 2,
        "With the broker stopped": [f"{OPERATING}a_backup_is_made_looked_into_and_restored"] * 2,
        "Where partitions go": [f"{JOBS}the_page_about_audits"],
    },
    "docs/pipeline.md": {"Jobs over log directories": [f"{INSTALL}pip_installs_a_checkout"]},
    "docs/recording.md": {
        "Look at what a client sends": [PROGRAMS],
        "Replay it": [PROGRAMS],
        "Over HTTP": [f"{OVER_HTTP}commands_that_record"],
    },
    "docs/recovering-a-dead-broker.md": {
        "1. Look, without changing anything": [RECOVERY],
        "2. Read, without changing a byte": [RECOVERY],
        "3. Serve them for good": [RECOVERY],
    },
    "docs/security.md": {
        "From nothing to TLS, users and ACLs": [FROM_NOTHING] * 4,
        "TLS": [CONFIGURATIONS],
        "Client certificates": [CONFIGURATIONS],
        "Rotating certificates": [SETTINGS],
        "Kubernetes secrets": [KUBERNETES] * 2,
        "Passwords: SASL PLAIN and SCRAM": [
            "tests/pages/test_security.py::test_the_first_user_is_made_with_the_directory",
            CONFIGURATIONS,
        ],
        "OAUTHBEARER": [CONFIGURATIONS],
        "Delegation tokens": [CONFIGURATIONS],
        "ACLs": [CONFIGURATIONS, SETTINGS],
        "In a cluster": [CONFIGURATIONS] * 2,
        "Quotas": [SETTINGS],
    },
    "docs/spark.md": {
        "Log directories in Spark": [f"{JOBS}the_programs_for_spark"] * 2,
        "Options": [f"{JOBS}the_programs_for_spark"],
        "Views": [f"{JOBS}the_programs_for_spark"],
        "Streams": [f"{JOBS}the_programs_for_spark"],
        "Clusters": [
            SPARK_NODES,
            NotRun("packs and sends an archive of 200 MB; tried by hand"),
            SPARK_AUDIT,
            SPARK_AUDIT,
        ],
    },
    "docs/testing-cookbook.md": {
        "A record that cannot be read": [PROGRAMS],
        "The broker answers with an error": [PROGRAMS],
        "The answer is lost": [PROGRAMS],
        "A slow broker": [PROGRAMS],
        "A consumer is thrown out of its group": [PROGRAMS],
        "Records were deleted before they were read": [PROGRAMS],
        "A transaction times out": [PROGRAMS],
        "The broker is restarted, or crashes": [PROGRAMS],
        "The disk is full": [PROGRAMS],
        "What the broker says in its log": [PROGRAMS],
        "A broker of a cluster fails": [PROGRAMS],
        "One broker for many tests": [
            PROGRAMS,
            PROGRAMS,
            "tests/pages/test_programs.py::test_the_settings_of_the_cookbook_configure_the_brokers",
        ],
        "unittest, and other runners": [PROGRAMS, PROGRAMS],
        "A service in another process, or in a container": [PROGRAMS],
    },
    "docs/testing-over-http.md": {
        "A broker for tests in any language": [
            f"{SERVING}a_broker_for_tests_has_an_admin_port",
            f"{WITH_DOCKER}a_broker_for_tests_serves",
        ],
        "One test, with curl": [f"{OVER_HTTP}commands_of_the_page"],
        "The same in Node": [f"{OVER_HTTP}program_for_node"],
    },
    "docs/testing.md": {
        "A broker for your tests": [PROGRAMS] * 3,
        "Without pytest": [PROGRAMS],
        "Brokers with security": [PROGRAMS],
        "Look inside and wait": [PROGRAMS],
        "Faults": [PROGRAMS],
        "A cluster for your tests": [PROGRAMS] * 2,
    },
    "docs/troubleshooting.md": {
        "A consumer gets nothing": ["tests/pages/test_commands.py::test_the_commands_of_troubleshooting"]
    },
    "docs/moving-from-and-to-kafka.md": {
        "From Kafka to Odradek": [f"{SERVING}it_takes_the_configuration_of_kafka"],
        "From Odradek to Kafka": ["tests/door/test_leaving.py::test_the_page_leads_to_a_kafka_that_serves"],
    },
}
"""Page -> heading -> what runs each of its blocks, in the order of the page."""


def programs(page: str) -> list[Block]:
    """The blocks of a page that can be run."""
    return [block for block in blocks(page) if block.language not in READ]


def sources(path: Path) -> Iterator[str]:
    """The text of a file of tests, and of the modules of the tests that it imports."""
    text = path.read_text()
    yield text
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            base = path.parents[node.level - 1] if node.level else ROOT / "tests"
            imported = base.joinpath(*node.module.split(".")).with_suffix(".py")
            if imported.is_file():
                yield imported.read_text()


@cache
def text_of(file: str) -> str:
    return "\n".join(sources(ROOT / file))


@pytest.mark.parametrize("page", pages())
def test_every_block_is_run_or_has_a_reason(page: str) -> None:
    found = Counter(block.heading for block in programs(page))
    assert {heading: len(entries) for heading, entries in RUN.get(page, {}).items()} == found


@pytest.mark.parametrize("page", RUN)
def test_the_tests_exist_and_read_the_page(page: str) -> None:
    for entries in RUN[page].values():
        for entry in entries:
            if isinstance(entry, NotRun):
                continue
            file, _, name = entry.partition("::")
            assert re.search(rf"^(?:async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE), entry
            assert Path(page).name in text_of(file) or "in pages()" in text_of(file), f"{file} does not name {page}"


@pytest.mark.parametrize("page", RUN)
def test_the_programs_with_our_fixtures_are_those_that_pytest_runs(page: str) -> None:
    entries = {heading: iter(entries) for heading, entries in RUN[page].items()}
    for block in programs(page):
        if next(entries[block.heading]) == PROGRAMS:
            assert block.language == "python"
            assert is_of_users(block.text), f"{page}:{block.line}"


def test_the_first_pages_are_all_run() -> None:
    """Of what a new user follows, only the code that a move replaces and commands for Kubernetes are not run."""
    first = (
        "README",
        "getting-started",
        "testing",
        "testing-cookbook",
        "docker-and-kubernetes",
        "moving-tests",
        "moving-from-and-to-kafka",
        "operating",
    )
    pages_of_all = [page for page in RUN if Path(page).stem in (*first, "troubleshooting")]
    assert len(pages_of_all) == len(first) + 1
    exceptions = [
        one for page in pages_of_all for entries in RUN[page].values() for one in entries if isinstance(one, NotRun)
    ]
    assert set(exceptions) == {ANOTHER_PROGRAM, KUBERNETES}
