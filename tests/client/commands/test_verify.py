"""``odradek verify`` with correct brokers, brokers that fail during the run, and brokers that lose records."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE

import pytest

from odradek.client.commands.delete_records import delete_records
from odradek.client.commands.verify.command import verify
from odradek.testing import BrokerSecurity, InProcessBroker, KafkaCluster, SecuredBroker

from ..command_shell import Shell

OK = "OK: no loss, no duplicate, no record out of order or of an aborted transaction"
TOPIC = "odradek-verify"


@pytest.fixture
def broker() -> Iterator[InProcessBroker]:
    with InProcessBroker() as broker:
        yield broker


def run(broker: InProcessBroker, *arguments: str) -> int:
    return verify(["--bootstrap-server", broker.bootstrap_servers, "--rate", "2000", *arguments])


def run_beside(broker: InProcessBroker, what: Callable[[], object], *arguments: str) -> int:
    """Runs the command while another thread does something to the broker."""
    with ThreadPoolExecutor(1) as threads:
        doing = threads.submit(what)
        code = run(broker, *arguments)
        doing.result()
    return code


@pytest.mark.parametrize("mode", [[], ["--transactional"]], ids=["single records", "transactional"])
def test_a_cluster_that_keeps_its_promises(mode: list[str], shell: Shell, name: str, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    flags = ["--topic", name, "--partitions", "2", "--replication-factor", "1", "--records", "1000", "--rate", "5000"]
    out = shell.out("verify", *flags, "--report", str(report), *mode)
    aborted = 200 if mode else 0
    counts = (
        f"records: 1,000 sent, {1000 - aborted} acknowledged, {f'{aborted} of aborted transactions, ' * bool(mode)}"
    )
    lines = out.splitlines()
    assert lines[0].startswith(f"{name}: 2 partitions, ")
    assert lines[1].replace("1,000 acknowledged", "1000 acknowledged").startswith(counts)
    assert lines[-1] == OK
    assert f"<strong>{OK}</strong>" in report.read_text()
    again = shell.out("verify", *flags, *mode)
    assert again.splitlines()[-1] == OK, "records of an earlier run do not matter"


def test_the_result_as_json(shell: Shell, name: str) -> None:
    flags = ["--topic", name, "--partitions", "2", "--replication-factor", "1", "--records", "500", "--rate", "5000"]
    found = json.loads(shell.out("verify", *flags, "--json"))
    assert (found["ok"], found["topic"], found["partitions"], found["findings"]) == (True, name, 2, [])
    assert found["records"] == {"sent": 500, "acknowledged": 500, "read": 500}
    assert found["latencyMs"]["count"] == 500 == sum(point["count"] for point in found["latencyMsOverTime"])
    assert found["latencyMs"]["50th"] <= found["latencyMs"]["99.9th"] <= found["latencyMs"]["max"]


@pytest.mark.parametrize("mode", [[], ["--transactional"]], ids=["single records", "transactional"])
def test_a_cluster_with_tls_and_passwords(
    mode: list[str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    kafka_broker_factory: Callable[..., SecuredBroker],
) -> None:
    secured = kafka_broker_factory(security=BrokerSecurity(users={"alice": "alice-secret"}))
    settings = tmp_path / "client.properties"
    lines = [f"{key}={value}" for key, value in secured.client("alice").java.items()]
    settings.write_text("\n".join(lines))
    assert run(secured, "--records", "300", "--command-config", str(settings), *mode) == 0
    assert capfd.readouterr().out.splitlines()[-1] == OK
    settings.write_text("\n".join(lines).replace("alice-secret", "wrong"))
    assert run(secured, "--records", "300", "--command-config", str(settings), *mode) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert "Authentication failed" in err


def run_until_interrupted(bootstrap_servers: str, break_it: Callable[[], None], *mode: str) -> tuple[int, str, str]:
    """Runs the command until ``break_it`` returns and Ctrl-C ends the writing. Exit code, standard output and error."""
    arguments = ["--bootstrap-server", bootstrap_servers, "--duration", "600", *mode]
    with subprocess.Popen(
        [sys.executable, "-m", "odradek", "verify", *arguments], stdout=PIPE, stderr=PIPE, text=True
    ) as process:
        try:
            break_it()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
        finally:
            process.kill()
    return process.returncode, out, err


@pytest.mark.parametrize("mode", [[], ["--transactional"]], ids=["single records", "transactional"])
def test_it_goes_on_when_the_broker_is_killed_and_started_again(mode: list[str], broker: InProcessBroker) -> None:
    """The broker is killed while an answer to Produce is pending. Ctrl-C ends only the writing."""
    broker.create_topic(TOPIC, 3)

    def kill_and_start() -> None:
        broker.consume(TOPIC, 200)
        broker.faults.hold("Produce", times=1).wait_until_held()
        broker.kill()
        broker.start()
        broker.consume(TOPIC, len(broker.records(TOPIC)) + 500)

    code, out, err = run_until_interrupted(broker.bootstrap_servers, kill_and_start, *mode)
    assert (code, out.splitlines()[-1:]) == (0, [OK]), out + err
    assert "stopped writing; reading what was written" in err


@pytest.mark.ci
def test_it_goes_on_when_a_leader_fails() -> None:
    with KafkaCluster() as cluster:
        cluster.create_topic(TOPIC, 3)

        def fail_over() -> None:
            cluster.consume(TOPIC, 200)
            leader = cluster.wait_for_leader(TOPIC)
            leader.kill()
            cluster.wait_for_leader(TOPIC, other_than=leader)
            cluster.consume(TOPIC, len(cluster.records(TOPIC)) + 500)

        code, out, err = run_until_interrupted(cluster.bootstrap_servers, fail_over, "--transactional")
    assert (code, out.splitlines()[-1:]) == (0, [OK]), out + err


def test_records_that_are_deleted_behind_its_back_are_lost(
    broker: InProcessBroker, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broker.create_topic(TOPIC)
    offsets = tmp_path / "offsets.json"
    offsets.write_text(f'{{"partitions": [{{"topic": "{TOPIC}", "partition": 0, "offset": 7}}], "version": 1}}')

    def delete() -> None:
        broker.consume(TOPIC, 100)
        arguments = ["--bootstrap-server", broker.bootstrap_servers, "--offset-json-file", str(offsets)]
        assert delete_records(arguments) == 0

    report = tmp_path / "report.html"
    assert run_beside(broker, delete, "--records", "600", "--report", str(report)) == 1
    lines = capfd.readouterr().out.splitlines()
    at = lines.index("7 lost: acknowledged or read before, and not in the topic now")
    assert lines[at + 1].startswith("  record 0 (key-0), acknowledged at 0:0")
    assert lines[at + 6 :] == ["  and 2 more", "FAILED: 1 kind of findings"]
    assert "<h3>7 lost:" in report.read_text()


def test_refused_records_are_no_finding_but_a_run_of_them_verifies_nothing(
    broker: InProcessBroker, capfd: pytest.CaptureFixture[str]
) -> None:
    broker.create_topic(TOPIC, configs={"max.message.bytes": 50})
    assert run(broker, "--records", "10") == 1
    lines = capfd.readouterr().out.splitlines()
    assert lines[1] == "records: 10 sent, 10 refused, 0 read"
    assert "no record was acknowledged, so nothing was verified" in lines


def test_a_partition_that_cannot_be_read_is_a_finding(
    broker: InProcessBroker, capfd: pytest.CaptureFixture[str]
) -> None:
    broker.create_topic(TOPIC)
    broker.faults.fail("Fetch", "KAFKA_STORAGE_ERROR", times=None)
    assert run(broker, "--records", "10", "--timeout", "0.2") == 1
    out = capfd.readouterr().out
    assert "1 partitions that could not be read to their end\n  partition 0: read up to offset 0 of 10" in out
    assert "lost" not in out


def test_another_number_of_partitions_is_refused(broker: InProcessBroker, capfd: pytest.CaptureFixture[str]) -> None:
    broker.create_topic(TOPIC, 2)
    assert run(broker, "--partitions", "3") == 1
    assert f"the topic {TOPIC} exists with 2 partitions, not 3" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--duration", "1", "--records", "1"], "--duration and --records cannot be specified together."),
        (["--records", "0"], "0 is not in the range x>=1"),
        (["--rate", "0"], "0.0 is not in the range x>0"),
        (["--report", "/no/such/directory/file"], "No such file or directory"),
        (["surplus"], "unexpected extra argument"),
    ],
)
def test_wrong_usage(arguments: list[str], says: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert verify(arguments) == 2
    assert says in " ".join(capfd.readouterr().err.split())
