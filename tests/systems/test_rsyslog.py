"""rsyslog of Debian, unmodified: lines of a file to a topic (omkafka), and from the topic to another file (imkafka).

It stands for programs that collect logs and metrics, such as Telegraf and Vector, of which no registry that CI reaches
has a program to install. Its Kafka modules use Debian's librdkafka.
"""

from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from support.brokers.python_clients import CLIENTS
from support.debian import program_or_skip
from systems.committed import committed
from systems.process import SystemProcess

LINES = 200

CONFIGURATION = """
global(workDirectory="{directory}")
module(load="imfile")
module(load="imkafka")
module(load="omkafka")
template(name="value" type="string" string="%msg%")
template(name="line" type="string" string="%rawmsg%\\n")

input(type="imfile" file="{directory}/source.log" tag="app:" ruleset="to-kafka")
ruleset(name="to-kafka") {{
  action(
    type="omkafka" broker="{servers}" topic="logs" template="value" partitions.auto="on"
    confParam=["compression.codec=lz4", "acks=all", "enable.idempotence=true"]
    resubmitOnFailure="on" keepFailedMessages="on" failedMsgFile="{directory}/failed"
    action.resumeInterval="1" action.resumeRetryCount="-1"
  )
}}

input(
  type="imkafka" broker="{servers}" topic="logs" consumergroup="collectors" ruleset="from-kafka"
  confParam=["auto.offset.reset=earliest"]
)
ruleset(name="from-kafka") {{ action(type="omfile" file="{directory}/sink.log" template="line") }}
"""

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    """Debian's packages."""
    modules = Path("/usr/lib").glob("*/rsyslog/omkafka.so")
    program_or_skip("rsyslogd", "rsyslog", "rsyslog-kafka", is_complete=any(modules))


def append(file: Path, first: int) -> list[str]:
    lines = [f"line {number}" for number in range(first, first + LINES)]
    with file.open("a") as out:
        out.writelines(f"{line}\n" for line in lines)
    return lines


def rsyslog(servers: str, directory: Path) -> SystemProcess:
    configuration = directory / "rsyslog.conf"
    configuration.write_text(CONFIGURATION.format(directory=directory, servers=servers))
    command = ["rsyslogd", "-n", "-f", str(configuration), "-i", str(directory / "rsyslogd.pid")]
    return SystemProcess(command, directory, "rsyslog")


def test_lines_pass_through_a_topic(tmp_path: Path) -> None:
    """The broker is killed once. What rsyslog was writing then it may write again, but no line is missing."""
    source, sink = tmp_path / "source.log", tmp_path / "sink.log"

    def has_all(written: list[str]) -> bool:
        return sink.exists() and set(sink.read_text().splitlines()) >= set(written)

    with OurBroker(tmp_path, {"group.initial.rebalance.delay.ms": "0"}) as broker:
        CLIENTS["confluent-kafka"].create_topic(broker.bootstrap_servers, "logs", 1)
        with rsyslog(broker.bootstrap_servers, tmp_path) as collector:
            written = append(source, 0)
            collector.wait_for("the sink has the first lines", lambda: has_all(written))
            assert committed(broker.bootstrap_servers, "logs", LINES) == written
            broker.kill()
            written += append(source, LINES)
            broker.start()
            collector.wait_for("the sink has the lines that came while the broker was away", lambda: has_all(written))
            collector.stop()
        assert set(committed(broker.bootstrap_servers, "logs", 2 * LINES)) == set(written)
        assert " ERROR " not in broker.log()
