"""A Docker engine for the tests of the image: a running one, or a private one that ends with the tests.

As root a ``dockerd`` is started on a socket and a store of its own, in a temporary directory, with a bridge of its own;
it leaves the machine's firewall, forwarding and other bridges alone, and publishes ports on 127.0.0.1. If CI=true, it
installs Debian's packages. Otherwise it installs nothing, and EngineMissingError says what is missing.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 30.0


class EngineMissingError(Exception):
    """No Docker engine is available; the text says why."""


class Engine:
    """A running Docker engine, used through its command line."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self.directory = directory
        """A temporary directory, removed after the engine has stopped."""
        self.variables = environment
        """The environment variables with which other programs find this engine."""
        self._environment = {**os.environ, **environment}

    def attempt(
        self, *arguments: str, timeout_s: float = 300, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs ``docker ARGUMENTS``; the caller checks ``returncode``. ``stdout`` has both outputs."""
        return subprocess.run(
            ["docker", *arguments],
            env={**self._environment, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def run(self, *arguments: str, timeout_s: float = 300, environment: Mapping[str, str] | None = None) -> str:
        """The output of ``docker ARGUMENTS``, which must succeed."""
        result = self.attempt(*arguments, timeout_s=timeout_s, environment=environment)
        assert result.returncode == 0, f"docker {' '.join(arguments)}: {result.returncode}\n{result.stdout[-4000:]}"
        return result.stdout.strip()

    def build(self, context: Path, tag: str, *arguments: str) -> None:
        """Builds an image, on the network of this machine (the bridge of a private engine leads nowhere)."""
        with_buildkit = self.attempt("buildx", "version").returncode == 0
        self.run(
            *("build", "--network", "host", "--tag", tag, *arguments, str(context)),
            timeout_s=900,
            environment={"DOCKER_BUILDKIT": "1" if with_buildkit else "0"},
        )


@contextmanager
def docker_engine() -> Iterator[Engine]:
    """An engine until the block ends. Raises EngineMissingError."""
    with _scratch() as directory:
        answering = Engine(directory, {})
        if shutil.which("docker") is not None and answering.attempt("version").returncode == 0:
            yield answering
            return
        if os.geteuid() != 0:
            raise EngineMissingError("no Docker engine answers, and only root can start one")
        if shutil.which("dockerd") is None:
            install(_engine_package())
        with _bridge() as bridge, _private_engine(directory, bridge) as engine:
            yield engine


@contextmanager
def _scratch() -> Iterator[Path]:
    # Not pytest's tmp_path: the path of the engine's socket may have about 100 characters.
    directory = Path(tempfile.mkdtemp(prefix="odradek-docker-"))
    try:
        yield directory
    finally:
        for line in reversed(Path("/proc/mounts").read_text().splitlines()):
            mounted = line.split()[1]
            if mounted.startswith(f"{directory}/"):
                subprocess.run(["umount", mounted], check=False)
        shutil.rmtree(directory)


@contextmanager
def _bridge() -> Iterator[str]:
    """A network device for the engine's containers, with addresses that no other engine of the tests has. Raises
    EngineMissingError.
    """
    if shutil.which("ip") is None:
        install("iproute2")
    process = os.getpid()
    name = f"odradek{process}"
    network = f"10.{192 + process // 256 % 64}.{process % 256}.1/24"
    for command in (["add", "name", name, "type", "bridge"], ["set", name, "up"]):
        result = subprocess.run(["ip", "link", *command], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise EngineMissingError(f"ip link {' '.join(command)}: {result.stderr}")
    try:
        subprocess.run(["ip", "address", "add", network, "dev", name], check=True)
        yield name
    finally:
        subprocess.run(["ip", "link", "delete", name], check=False)


@contextmanager
def _private_engine(directory: Path, bridge: str) -> Iterator[Engine]:
    store, socket, log = directory / "store", directory / "socket", directory / "dockerd.log"
    command = ["dockerd", f"--data-root={store}/data", f"--exec-root={store}/exec", f"--pidfile={store}/pid"]
    command += [f"--host=unix://{socket}", "--storage-driver=overlay2"]
    command += [f"--bridge={bridge}", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip=127.0.0.1"]
    store.mkdir()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    engine = Engine(directory, {"DOCKER_HOST": f"unix://{socket}"})
    try:
        deadline = time.monotonic() + START_TIMEOUT_S
        while engine.attempt("version").returncode != 0:
            if process.poll() is not None or time.monotonic() > deadline:
                raise EngineMissingError(f"dockerd does not start here:\n{log.read_text()[-1500:]}")
        yield engine
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stops the engine and its containerd; kills the remaining processes of its session."""
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def install(*packages: str) -> None:
    """Installs Debian packages if CI=true. Raises EngineMissingError."""
    names = " ".join(packages)
    if os.environ.get("CI") != "true":
        raise EngineMissingError(f"not installed: {names} (with CI=true the tests install it)")
    if shutil.which("apt-get") is None:
        raise EngineMissingError(f"not installed: {names}, and apt-get is missing")
    command = ["apt-get", "install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300", *packages]
    if _apt(*command).returncode != 0:
        _apt("dpkg", "--configure", "-a")  # an image that was taken during an installation needs this first
        _apt("apt-get", "update")
        result = _apt(*command)
        if result.returncode != 0:
            raise EngineMissingError(f"apt-get install {names}: {result.stdout[-800:]}")


def _apt(*command: str, directory: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def _engine_package() -> str:
    """The package of Debian with ``dockerd``, whose name is the engine's with a suffix."""
    for refresh in (False, True):
        if refresh:
            _apt("apt-get", "update")
        result = subprocess.run(["apt-cache", "pkgnames", "docker."], capture_output=True, text=True, check=False)
        if result.stdout.split():
            return sorted(result.stdout.split())[0]
    raise EngineMissingError("apt knows no package of the Docker engine")


def compose_environment(engine: Engine) -> dict[str, str]:
    """The environment in which ``docker compose`` works: this one, or one with Debian's newer plugin, which is only
    unpacked.

    Raises EngineMissingError.
    """
    if engine.attempt("compose", "version").returncode == 0:
        return {}
    plugins = engine.directory / "configuration" / "cli-plugins"
    if not plugins.exists():
        plugins.mkdir(parents=True)
        for file in _unpack("docker-compose", "trixie", engine.directory / "apt").glob("**/cli-plugins/*"):
            shutil.copy(file, plugins)
    environment = {"DOCKER_CONFIG": str(plugins.parent)}
    result = engine.attempt("compose", "version", environment=environment)
    if result.returncode != 0:
        raise EngineMissingError(f"docker compose: {result.stdout[-800:]}")
    return environment


def _unpack(package: str, suite: str, directory: Path) -> Path:
    """Downloads a package of another Debian release from where this machine gets its own, and unpacks it."""
    sites = _apt("apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages")
    if sites.returncode != 0 or not sites.stdout.split():
        raise EngineMissingError(f"no {package}: apt-get knows no place for packages")
    for part in ("lists/partial", "cache/archives/partial", "unpacked"):
        (directory / part).mkdir(parents=True)
    source = directory / "sources.list"
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    source.write_text(f"deb [signed-by={keyring}] {sites.stdout.split()[0]} {suite} main\n")
    options = [f"Dir::Etc::SourceList={source}", "Dir::Etc::SourceParts=/dev/null"]
    options += [f"Dir::State::lists={directory}/lists", f"Dir::Cache={directory}/cache"]
    apt = ["apt-get", *(part for option in options for part in ("-o", option))]
    for command in ([*apt, "update"], [*apt, "download", package]):
        result = _apt(*command, directory=directory)
        if result.returncode != 0:
            raise EngineMissingError(f"no {package}: {result.stdout[-800:]}")
    for archive in directory.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", str(archive), str(directory / "unpacked")], check=True)
    return directory / "unpacked"
