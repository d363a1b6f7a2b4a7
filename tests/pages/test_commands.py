"""The commands of README.md, docs/troubleshooting.md and docs/operating.md, run as they stand there."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from support.debian import program_or_skip
from support.pipeline.wheel import ROOT
from support.shell import Shell

README, TROUBLESHOOTING, OPERATING = "README.md", "docs/troubleshooting.md", "docs/operating.md"
UNIT = ROOT / "conf" / "odradek.service"

pytestmark = pytest.mark.ci


class Reader:
    """Runs the commands of a page in a directory, beside a broker with its data in ``data``."""

    def __init__(self, directory: Path, broker: OurBroker) -> None:
        self._shell = Shell(directory)
        self.broker = broker

    def run(self, command: str, typed: str = "") -> str:
        """The output of a command; it must succeed."""
        return self._shell.run(f"export ODRADEK_BOOTSTRAP_SERVER={self.broker.bootstrap_servers}; {command}", typed)

    def run_of(self, page: str, command: str, *instead: tuple[str, str]) -> str:
        """The output of a command that a page has. ``instead``: texts of it, and what the reader writes there."""
        assert command in re.sub(r"\s+", " ", (ROOT / page).read_text()), f"{page} has no {command}"
        for text, own in instead:
            command = command.replace(text, own)
        return self.run(command)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with OurBroker(tmp_path, {"log.dirs": str(tmp_path / "data"), "group.initial.rebalance.delay.ms": "0"}) as broker:
        yield Reader(tmp_path, broker)


def block(page: str, heading: str) -> list[str]:
    """The commands of ``odradek`` in the code of a page, below a heading."""
    section = (ROOT / page).read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^(?:    )?((?:echo .*\| )?odradek (?!serve).*)$", section, re.MULTILINE)


def test_the_commands_and_jobs_of_the_readme(reader: Reader, tmp_path: Path) -> None:
    said = [reader.run(command) for command in block(README, "The command line")]
    assert "hello" in said[-1]
    audit, compact, export, restore = block(README, "Jobs over log directories")
    reader.run(audit)
    assert (tmp_path / "audit-of-today").is_dir()
    assert reader.broker.stop() == 0
    reader.run(compact)
    reader.run(export)
    reader.run(restore)
    assert list((tmp_path / "restored").glob("orders-*"))
    assert "hello" in reader.run("odradek dump-log --print-data-log --files restored/orders-*/*.log")


def test_the_commands_of_troubleshooting(reader: Reader) -> None:
    reader.run("odradek topics --create --topic orders")
    reader.run("odradek produce --topic orders", "one\ntwo\n")
    reader.run("odradek consume --topic orders --group billing --from-beginning --max-messages 1")
    ends, group, first = (reader.run(command) for command in block(TROUBLESHOOTING, "A consumer gets nothing"))
    assert ends.split() == ["orders:0:2"]
    assert "billing" in group
    assert "one" in first
    address = reader.broker.bootstrap_servers
    reader.run_of(TROUBLESHOOTING, "odradek health --bootstrap-server HOST:PORT", ("HOST:PORT", address))
    reader.run_of(TROUBLESHOOTING, "odradek transactions find-hanging --broker-id 1")
    assert "orders" in reader.run_of(TROUBLESHOOTING, "odradek storage explain DIRECTORY", ("DIRECTORY", "data"))
    logger = "odradek configs --alter --broker-logger ID --add-config root=DEBUG"
    levels = "odradek configs --describe --broker-logger 1"
    assert "root=DEBUG" not in reader.run(levels)
    reader.run_of(TROUBLESHOOTING, logger, ("ID", "1"))
    assert "root=DEBUG" in reader.run(levels)
    assert reader.run_of(TROUBLESHOOTING, "odradek --version").startswith("odradek ")


def test_the_commands_of_operating(reader: Reader, tmp_path: Path) -> None:
    reader.run("odradek topics --create --topic orders")
    reader.run("odradek produce --topic orders", "one\ntwo\n")
    reader.run("odradek consume --topic orders --group billing --from-beginning --max-messages 1")
    reader.run_of(OPERATING, "odradek health")
    assert "billing" in reader.run_of(OPERATING, "odradek groups --describe --all-groups")
    reader.run_of(OPERATING, "odradek transactions find-hanging --broker-id 1")
    assert reader.broker.stop() == 0
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    before = {path: path.read_bytes() for path in (tmp_path / "copy").rglob("*") if path.is_file()}
    for command in ("odradek audit COPY", "odradek storage check COPY"):
        reader.run_of(OPERATING, command, ("COPY", "copy"))
    assert "orders" in reader.run_of(OPERATING, "odradek storage explain", ("explain", "explain copy"))
    adopt = "odradek storage adopt --read-only --set-metadata-aside COPY"
    assert "orders: 1 of 1" in reader.run_of(OPERATING, adopt, ("COPY", "--no-serve copy"))
    assert {path: path.read_bytes() for path in before} == before
    restored = OurBroker(tmp_path, {"log.dirs": str(tmp_path / "copy")})
    with restored:
        reader.broker = restored
        assert "two" in reader.run("odradek consume --topic orders --group billing --max-messages 1")


def test_systemd_knows_the_unit(tmp_path: Path) -> None:
    program_or_skip("systemd-analyze", "systemd")
    unit = tmp_path / UNIT.name
    program = Path(sys.executable).parent / "odradek"
    unit.write_text(UNIT.read_text().replace("/opt/odradek/bin/odradek", str(program)))
    verify = ["systemd-analyze", "verify", "--man=no", str(unit)]
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert UNIT.name not in done.stderr, "no warning is about it"
    # The test can fail: an unknown key is named.
    unit.write_text(unit.read_text().replace("KillMode=", "KillModus="))
    assert "KillModus" in subprocess.run(verify, capture_output=True, text=True, check=False).stderr
