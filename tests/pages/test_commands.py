"""The commands of README.md and docs/troubleshooting.md, run as they stand there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from support.pages import INDENTED, only_block
from support.reader import Reader

README, TROUBLESHOOTING = "README.md", "docs/troubleshooting.md"

pytestmark = pytest.mark.ci


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OurBroker]:
    with OurBroker(tmp_path, {"log.dirs": str(tmp_path / "data"), "group.initial.rebalance.delay.ms": "0"}) as one:
        yield one


@pytest.fixture
def reader(broker: OurBroker) -> Reader:
    return Reader(broker.directory, broker.bootstrap_servers)


def test_the_commands_and_jobs_of_the_readme(reader: Reader, broker: OurBroker, tmp_path: Path) -> None:
    said = reader.run_block(only_block(README, "The command line", INDENTED))
    assert "hello" in said[-1]
    audit, compact, export, restore = only_block(README, "Jobs over log directories", INDENTED).commands()
    reader.run(audit)
    assert (tmp_path / "audit-of-today").is_dir()
    assert broker.stop() == 0
    reader.run(compact)
    reader.run(export)
    reader.run(restore)
    assert list((tmp_path / "restored").glob("orders-*"))
    assert "hello" in reader.run("odradek dump-log --print-data-log --files restored/orders-*/*.log")


def test_the_commands_of_troubleshooting(reader: Reader, broker: OurBroker) -> None:
    reader.run("odradek topics --create --topic orders")
    reader.run("odradek produce --topic orders", "one\ntwo\n")
    reader.run("odradek consume --topic orders --group billing --from-beginning --max-messages 1")
    ends, group, first = reader.run_block(only_block(TROUBLESHOOTING, "A consumer gets nothing", "sh"))
    assert ends.split() == ["orders:0:2"]
    assert "billing" in group
    assert "one" in first
    here = ("HOST:PORT", broker.bootstrap_servers)
    assert "0 errors, 0 warnings" in reader.run_of(TROUBLESHOOTING, "odradek doctor HOST:PORT", here)
    reader.run_of(TROUBLESHOOTING, "odradek transactions find-hanging --broker-id 1")
    assert "orders" in reader.run_of(TROUBLESHOOTING, "odradek storage explain DIRECTORY", ("DIRECTORY", "data"))
    logger = "odradek configs --alter --broker-logger ID --add-config root=DEBUG"
    levels = "odradek configs --describe --broker-logger 1"
    assert "root=DEBUG" not in reader.run(levels)
    reader.run_of(TROUBLESHOOTING, logger, ("ID", "1"))
    assert "root=DEBUG" in reader.run(levels)
    assert reader.run_of(TROUBLESHOOTING, "odradek --version").startswith("odradek ")
