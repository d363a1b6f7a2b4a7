"""The commands of docs/operating.md, on a machine without systemd: the tests start and stop the service."""

import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.brokers.free_ports import free_port
from support.brokers.our_broker import OurBroker
from support.debian import program_or_skip
from support.pages import Block, blocks, only_block
from support.pipeline.wheel import ROOT, build_wheel, copy_of_tree, run
from support.reader import Reader

PAGE = "docs/operating.md"
UNIT = ROOT / "conf" / "odradek.service"
OF_THE_MACHINE = ("useradd", "systemctl", "journalctl", "git", "make")
"""Programs whose part the test takes."""

pytestmark = pytest.mark.ci


class Machine:
    """The directories of a machine, below the test's, with a checkout."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.checkout = directory / "checkout"
        self.port = free_port()
        self.checkout.mkdir()
        (self.checkout / "conf").symlink_to(ROOT / "conf")
        (self.checkout / "dist").mkdir()
        for place in ("etc/systemd/system", "opt", "var/lib/odradek", "backup"):
            (directory / place).mkdir(parents=True)

    def here(self, text: str) -> str:
        """A text with the paths of this machine."""
        return re.sub(r"(?<![\w.])/(?=opt/|etc/|var/|backup/)", f"{self.directory}/", text)

    def run(self, block: Block) -> None:
        """Runs the commands of a block in the checkout, without those of systemd, users and git."""
        without = "".join(f"{name}() {{ :; }}\n" for name in OF_THE_MACHINE)
        commands = self.here(block.text).replace("python3 ", f"{sys.executable} ")
        run("sh", "-c", f"{without}set -e\n{commands}", directory=self.checkout)

    def shell(self, commands: str) -> None:
        """Runs commands with the `odradek` of the tests, in a directory without a checkout."""
        program = shlex.join([sys.executable, "-m", "odradek"])
        run("sh", "-c", f'odradek() {{ {program} "$@"; }}\nset -e\n{self.here(commands)}', directory=self.directory)

    def odradek(self, arguments: str, typed: str = "") -> str:
        """The output of the installed command, which must succeed."""
        command = [self.here("/opt/odradek/bin/odradek"), *shlex.split(arguments)]
        done = subprocess.run(
            command, cwd=self.directory, input=typed, capture_output=True, text=True, check=False, env={}
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def service(self) -> Iterator[str]:
        """The service as its unit starts and stops it, on another port; its address."""
        unit = self.here((self.directory / "etc/systemd/system/odradek.service").read_text())
        (command,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
        assert re.findall(r"^Type=(.*)$", unit, re.MULTILINE) == ["notify"]
        address = f"127.0.0.1:{self.port}"
        listener = f"--override listeners=PLAINTEXT://{address}"
        with notified() as (manager, environ):
            process = subprocess.Popen(["sh", "-c", f"exec {command} {listener}"], cwd="/", env=environ)
            try:
                assert manager.recv(100) == b"READY=1"
                yield address
            finally:
                process.terminate()
                code = process.wait()
            assert manager.recv(100) == b"STOPPING=1"
        assert code == 0


@contextmanager
def notified() -> Iterator[tuple[socket.socket, dict[str, str]]]:
    """The socket of a service manager, and what it puts into the environment of a service."""
    with TemporaryDirectory() as short, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"{short}/notify")  # a path of at most 108 bytes
        yield manager, {"NOTIFY_SOCKET": f"{short}/notify"}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel, and one with the same version number in which the version has more words."""
    first = build_wheel(tmp_path_factory.mktemp("first"))
    changed = copy_of_tree(tmp_path_factory.mktemp("second"))
    package = changed / "odradek" / "__init__.py"
    package.write_text(package.read_text() + 'BUILD = "second"\n')
    return first, build_wheel(changed.parent, changed)


def test_it_is_installed_upgraded_and_goes_back(machine: Machine, wheels: tuple[Path, Path]) -> None:
    """Data and offsets stay. The two builds have the same version, as most builds of a checkout."""
    install = only_block(PAGE, "Install as a service", "sh")
    upgrade = only_block(PAGE, "Stop, start, upgrade", "sh")
    assert wheels[0].name == wheels[1].name
    in_dist = machine.checkout / "dist" / wheels[0].name
    shutil.copy(wheels[0], in_dist)
    machine.run(install)
    with machine.service() as address:
        machine.odradek(f"produce --bootstrap-server {address} --topic orders", "one\ntwo\nthree\n")
    assert (machine.directory / "var/lib/odradek/orders-0").is_dir(), "where the unit lets it write"
    read = "consume --topic orders --group billing --from-beginning --max-messages 1 --bootstrap-server"
    for wheel, is_second, record in ((wheels[1], True, "one"), (wheels[0], False, "two")):
        shutil.copy(wheel, in_dist)
        machine.run(upgrade)
        interpreter = machine.here("/opt/odradek/bin/python")
        has_build = run(
            interpreter, "-c", "import odradek; print(hasattr(odradek, 'BUILD'))", directory=machine.directory
        )
        assert has_build.strip() == str(is_second)
        with machine.service() as address:
            assert machine.odradek(f"{read} {address}").strip() == record
    named = re.findall(r"`(/opt/odradek/bin/pip install \".*?\")`", (ROOT / PAGE).read_text())
    (with_spark,) = (command.replace("pip install", "pip install --dry-run --no-deps") for command in named)
    assert "odradek" in run("sh", "-c", machine.here(with_spark), directory=machine.checkout)


def test_a_backup_is_made_looked_into_and_restored(machine: Machine) -> None:
    program_or_skip("rsync", "rsync")
    back_up, restore = blocks(PAGE, "With the broker stopped")
    data, copy = machine.directory / "var/lib/odradek", machine.directory / "backup/odradek"
    broker = OurBroker(machine.directory, {"log.dirs": str(data)})
    reader = Reader(machine.directory)
    with broker:
        reader.server = broker.bootstrap_servers
        reader.run("odradek topics --create --topic orders")
        reader.run("odradek produce --topic orders", "one\ntwo\n")
        reader.run("odradek consume --topic orders --group billing --from-beginning --max-messages 1")
        reader.run_of(PAGE, "odradek health")
        assert "billing" in reader.run_of(PAGE, "odradek groups --describe --all-groups")
        reader.run_of(PAGE, "odradek transactions find-hanging --broker-id 1")
        assert broker.stop() == 0
    machine.run(back_up)
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    assert before
    for command in ("odradek audit COPY", "odradek storage check COPY"):
        reader.run_of(PAGE, command, ("COPY", str(copy)))
    assert "orders" in reader.run_of(PAGE, "odradek storage explain", ("explain", f"explain {copy}"))
    adopt = "odradek storage adopt --read-only --set-metadata-aside COPY"
    assert "orders: 1 of 1" in reader.run_of(PAGE, adopt, ("COPY", f"--no-serve {copy}"))
    assert {path: path.read_bytes() for path in before} == before
    for damaged in data.glob("orders-0/*"):
        damaged.unlink()
    machine.run(restore)
    with broker:
        assert "two" in reader.run("odradek consume --topic orders --group billing --max-messages 1")


def test_a_snapshot_is_taken_and_restored(machine: Machine) -> None:
    take, restore = blocks(PAGE, "While the broker runs")
    data = machine.directory / "var/lib/odradek"
    with OurBroker(machine.directory, {"log.dirs": str(data)}) as broker:
        reader = Reader(machine.directory)
        reader.server = broker.bootstrap_servers
        reader.run("odradek topics --create --topic orders")
        reader.run("odradek produce --topic orders", "one\ntwo\n")
        reader.run("odradek consume --topic orders --group billing --from-beginning --max-messages 1")
        for line in take.text.splitlines():
            machine.shell(line)
        reader.run("odradek produce --topic orders", "three\n")
    machine.shell(restore.text)
    (machine.directory / "other").mkdir()
    with OurBroker(machine.directory / "other", {"log.dirs": f"{data}-restored"}) as broker:
        reader.server = broker.bootstrap_servers
        assert "one\ntwo\n" in reader.run("odradek consume --topic orders --from-beginning --max-messages 2")
        assert "two\n" in reader.run("odradek consume --topic orders --group billing --max-messages 1")
        assert reader.run(f"odradek get-offsets --bootstrap-server {broker.bootstrap_servers} --topic orders") == (
            "orders:0:2\n"
        )


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
