"""The commands of our pages that install: from a copy of the checkout, in environments of their own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from support.eventually import eventually
from support.pages import INDENTED, Block, blocks, pages
from support.pipeline.wheel import copy_of_tree, run

README = "README.md"
PATIENCE_S = 180.0
IN_A_CHECKOUT = sorted(
    {
        command
        for page in pages()
        for block in blocks(page)
        for command in block.commands()
        if command[:13] == "pip install '"
    }
    | set(blocks(README, "Install")[0].commands())
)
"""Of all pages: ``pip install .`` and its extras."""
CLIENTS = [
    block
    for heading in ("kafka-python", "confluent-kafka", "aiokafka")
    for block in blocks("docs/getting-started.md", heading)
    if block.language == INDENTED
]

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_tree(tmp_path_factory.mktemp("checkout"))


class Activated:
    """A new environment, as ``activate`` makes it the shell's. It sees the packages of this one, so that pip finds all
    dependencies and installs only Odradek.
    """

    def __init__(self, directory: Path) -> None:
        run(sys.executable, "-m", "venv", "env", directory=directory)
        self._bin = directory / "env" / "bin"
        name = "purelib"
        (site,) = (directory / "env").glob("lib/python*/site-packages")
        (site / "seen.pth").write_text(sysconfig.get_path(name) + "\n")
        self.packages = site

    def run(self, command: str, directory: Path) -> str:
        """The output of a command, which must succeed."""
        environment = f'PIP_DISABLE_PIP_VERSION_CHECK=1 PATH="{self._bin}:$PATH"'
        return run("sh", "-c", f"export {environment}; {command}", directory=directory)

    def installed(self, package: str) -> str:
        """The file of an imported package."""
        program = f"import {package}; print({package}.__file__)"
        return self.run(f'python -c "{program}"', self.packages).strip()


@pytest.fixture(scope="module")
def activated(tmp_path_factory: pytest.TempPathFactory) -> Activated:
    return Activated(tmp_path_factory.mktemp("activated"))


@pytest.mark.parametrize(
    "command",
    [pytest.param(one, marks=() if one == "pip install ." else pytest.mark.nightly) for one in IN_A_CHECKOUT],
)
def test_pip_installs_a_checkout(activated: Activated, checkout: Path, command: str) -> None:
    activated.run(command, checkout)
    assert Path(activated.installed("odradek")).is_relative_to(activated.packages)
    assert "serve" in activated.run("odradek --help", activated.packages)


def test_make_builds_the_wheel_that_pip_installs(activated: Activated, checkout: Path) -> None:
    """An earlier wheel in ``dist`` is replaced: the page's pattern must match one file."""
    make, install = blocks(README, "Install")[1].commands()
    assert make == "make wheel"
    (checkout / "dist").mkdir()
    (checkout / "dist" / "odradek-0.0.1-py3-none-any.whl").touch()
    venv = Path(sys.prefix)
    # This environment is the Makefile's, as it stands: without a new installation.
    activated.run(f"{make} VENV={venv} --assume-old={venv}/.installed-dev", checkout)
    activated.run(f"{install} --force-reinstall --no-deps", checkout)
    assert Path(activated.installed("odradek")).is_relative_to(activated.packages)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment without packages."""
    directory = tmp_path_factory.mktemp("empty")
    run(sys.executable, "-m", "venv", directory, directory=directory)
    return directory


@pytest.mark.parametrize("block", CLIENTS, ids=lambda block: block.heading)
def test_pip_installs_the_client_of_a_page(empty: Path, block: Block) -> None:
    (command,) = block.commands()
    package = command.split()[-1].replace("-python", "").replace("-", "_")
    run("sh", "-c", f"PATH={empty}/bin:$PATH; {command}", directory=empty)
    run(empty / "bin" / "python", "-c", f"import {package}", directory=empty)


@pytest.fixture
def serving(checkout: Path) -> Iterator[subprocess.Popen[str]]:
    """``make run``, on a free port."""
    command = next(line for line in blocks(README, "Two commands")[0].commands() if line == "make run")
    arguments = "conf/server.properties --override listeners=PLAINTEXT://127.0.0.1:0 --ready-file ready.json"
    words = [*command.split(), f"SERVE_ARGUMENTS={arguments}", f"PYTHON={sys.executable}"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        words, cwd=checkout, stdout=pipe, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        yield process
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # make and the broker


def test_make_run_installs_and_serves(checkout: Path, serving: subprocess.Popen[str]) -> None:
    ready = checkout / "ready.json"

    def serves() -> bool:
        assert serving.poll() is None, serving.communicate()[0]
        return ready.exists()

    eventually("make run serves", serves, patience_s=PATIENCE_S)
    described = json.loads(ready.read_text())
    assert AdminClient({"bootstrap.servers": described["bootstrap_servers"]}).list_topics(timeout=60).brokers
    assert (checkout / "data" / "meta.properties").is_file()
    serving.terminate()
    assert "stopped cleanly" in serving.communicate()[0]
