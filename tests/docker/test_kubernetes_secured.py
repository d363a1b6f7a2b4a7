"""The secured manifest for Kubernetes as processes of this machine, with the commands of docs/docker-and-kubernetes.md.

Not in a cluster: the paths of the containers are directories of the test, and ``kubectl`` is what the test does.
"""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.brokers.free_ports import free_port
from support.eventually import eventually
from support.shell import Shell

from .entry_points import DOCKER, entry_point

PAGE = DOCKER.parent / "docs" / "docker-and-kubernetes.md"
MANIFEST = DOCKER / "kubernetes" / "odradek-secured.yaml"
RANDOM_ID = "$(docker run --rm odradek storage random-uuid)"

pytestmark = pytest.mark.ci


def blocks(kind: str) -> list[str]:
    text = PAGE.read_text().partition("\n### TLS and passwords\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


class Pod:
    """The pod's directories below the test's, and its containers' commands as a shell runs them."""

    def __init__(self, directory: Path) -> None:
        documents = {one["kind"]: one for one in yaml.safe_load_all(MANIFEST.read_text())}
        self._spec: dict[str, Any] = documents["StatefulSet"]["spec"]["template"]["spec"]
        self._config: dict[str, str] = documents["ConfigMap"]["data"]
        self._places = {
            "/mnt/shared/config": str(directory / "config"),
            "/etc/kafka/secrets": str(directory / "secrets"),
            "/var/lib/kafka/data": str(directory / "data"),
            "9093": str(free_port()),
        }
        self._directory = directory
        self._secret: dict[str, str] = {}

    def here(self, text: str) -> str:
        """A text with the paths and the port of this machine."""
        for there, here in self._places.items():
            text = text.replace(there, here)
        return text

    def create_secret(self, command: str, working_directory: Path) -> None:
        """``kubectl create secret generic``; then mounts the secret and the config map."""
        for argument in shlex.split(command):
            kind, _, rest = argument.partition("=")
            name, _, value = rest.partition("=")
            if kind == "--from-file":
                self._secret[name] = (working_directory / name).read_text()
            elif kind == "--from-literal":
                self._secret[name] = value
        mount(self._directory / "secrets", {name: self.here(text) for name, text in self._secret.items()})
        mount(
            self._directory / "config",
            {
                name: self.here(text).replace("//:", "//localhost:").replace("0.0.0.0:9404", "127.0.0.1:0")
                for name, text in self._config.items()
            },
        )

    def init_command(self) -> str:
        """The command of the init container."""
        (container,) = self._spec["initContainers"]
        arguments = list(container["args"])
        for one in container["env"]:
            reference = one["valueFrom"]["secretKeyRef"]
            assert reference["name"] == "odradek-secrets"
            value = self._secret[reference["key"]]
            arguments = [argument.replace(f"$({one['name']})", value) for argument in arguments]
        return self.here(shlex.join(entry_point("entrypoint.py").command(arguments, {}, True)))

    def command(self) -> str:
        """The command of the broker's container; without the advertised name, which only a cluster resolves."""
        return self.here(shlex.join(entry_point("entrypoint.py").command(["serve"], {}, True)))


def mount(volume: Path, files: dict[str, str]) -> None:
    """Lays out files as Kubernetes does: links through ``..data``."""
    version = volume / "..2026_11_26"
    version.mkdir(parents=True)
    (volume / "..data").symlink_to(version.name)
    for name, text in files.items():
        (version / name).write_text(text)
        (volume / name).symlink_to(Path("..data") / name)


def test_the_commands_of_the_page(tmp_path: Path) -> None:
    shell, pod = Shell(tmp_path), Pod(tmp_path / "pod")
    certificates, start, users = blocks("sh")
    for command in certificates.splitlines():
        shell.run(command)
    (admin,) = blocks("properties")
    (tmp_path / "admin.properties").write_text(admin)
    create, *rest = start.splitlines()
    assert [command.split()[:2] for command in rest] == [["kubectl", "apply"], ["kubectl", "rollout"]]
    assert create.endswith(RANDOM_ID)
    cluster_id = shell.run("odradek storage random-uuid").strip()
    pod.create_secret(create.replace(RANDOM_ID, cluster_id), tmp_path)
    assert "Formatting" in shell.run(pod.init_command())
    assert "already formatted" in shell.run(pod.init_command()), "as after a restart of the pod"
    with shell.start(f"exec {pod.command()} --ready-file ready.json") as broker:
        try:
            eventually(
                "it serves or has ended", lambda: (tmp_path / "ready.json").exists() or broker.poll() is not None
            )
            assert broker.poll() is None, broker.communicate()[0]
            in_pod = "kubectl exec odradek-0 -- "
            user, acl = (pod.here(line.removeprefix(in_pod)) for line in users.splitlines() if line.startswith(in_pod))
            assert "alice" in shell.run(user)
            assert "User:alice" in shell.run(acl)
            (tmp_path / "alice.properties").write_text(pod.here(admin).replace("admin", "alice"))
            server = pod.here("--bootstrap-server localhost:9093 --command-config alice.properties")
            shell.run(f"odradek produce {server} --topic orders", "hello\n")
            read = f"odradek consume {server} --topic orders --group billing --from-beginning --max-messages 1"
            assert "hello" in shell.run(read)
            refused = shell.start(f"odradek produce {server} --topic others")
            assert "TOPIC_AUTHORIZATION_FAILED" in refused.communicate("no\n")[0]
        finally:
            broker.terminate()
            said = broker.communicate()[0]
    assert "stopped cleanly" in said
    assert "-secret" not in said, "no password is logged"
