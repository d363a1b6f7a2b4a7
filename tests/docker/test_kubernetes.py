"""The manifests for Kubernetes are valid by the schemas of its API, and configure keys that the broker knows."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metrics.endpoint import PATHS
from odradek.broker.server.serve_options import parser

from .entry_points import DOCKER, entry_point

MANIFEST = DOCKER / "kubernetes" / "odradek.yaml"
SECURED = DOCKER / "kubernetes" / "odradek-secured.yaml"
VALIDATE = """
import json, sys, yaml, kubernetes_validate
documents = list(yaml.safe_load_all(open(sys.argv[1])))
for document in documents:
    kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
print(json.dumps(documents))
"""

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the package that has the schemas: 108 MB, which no other test needs."""
    directory = tmp_path_factory.mktemp("kubernetes")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, "--target", str(directory), "kubernetes-validate"], check=True)
    return directory


def validated(schemas: Path, manifest: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(schemas)}
    command = [sys.executable, "-c", VALIDATE, str(manifest)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def documents(schemas: Path, manifest: Path) -> dict[str, Any]:
    """The documents of a valid manifest, by kind."""
    run = validated(schemas, manifest)
    assert run.returncode == 0, run.stderr
    return {document["kind"]: document for document in json.loads(run.stdout)}


def test_it_is_valid_and_configures_the_broker(schemas: Path, tmp_path: Path) -> None:
    found = documents(schemas, MANIFEST)
    config = configuration_of(found, None)
    check_ports_and_probes(found, config)
    assert config["advertised.listeners"] == ("PLAINTEXT://odradek-0.odradek.shop.svc:9092",)
    (mount,) = container_of(found)["volumeMounts"]
    assert config["log.dirs"] in (mount["mountPath"], (mount["mountPath"],))
    # The test can fail: a misspelt field is refused.
    broken = tmp_path / "broken.yaml"
    broken.write_text(MANIFEST.read_text().replace("serviceName:", "servicename:"))
    assert "servicename" in validated(schemas, broken).stderr


def test_the_secured_one_is_valid_and_configures_the_broker(schemas: Path) -> None:
    """Its containers mount what the configuration and the arguments name, and only from volumes that there are."""
    found = documents(schemas, SECURED)
    text = found["ConfigMap"]["data"]["server.properties"]
    assert "password" not in text
    config = configuration_of(found, text)
    check_ports_and_probes(found, config)
    assert config["advertised.listeners"] == ("SASL_SSL://odradek-0.odradek.shop.svc:9093",)
    pod = found["StatefulSet"]["spec"]["template"]["spec"]
    claims = found["StatefulSet"]["spec"]["volumeClaimTemplates"]
    volumes = {one["name"] for one in pod["volumes"]} | {one["metadata"]["name"] for one in claims}
    (format_container,) = pod["initContainers"]
    for container in (format_container, container_of(found)):
        mounts = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
        assert set(mounts.values()) == volumes
        assert config["log.dirs"] == ("/var/lib/kafka/data",)
        assert {"/var/lib/kafka/data", "/mnt/shared/config", "/etc/kafka/secrets"} == set(mounts)
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def container_of(found: dict[str, Any]) -> dict[str, Any]:
    """The broker's container."""
    (container,) = found["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    assert isinstance(container, dict)
    return container


def check_ports_and_probes(found: dict[str, Any], config: ServerConfig) -> None:
    container = container_of(found)
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert {port["targetPort"]: port["port"] for port in found["Service"]["spec"]["ports"]} == ports
    metrics_port = ports.pop("metrics")
    assert [listener.port for listener in config.listeners] == list(ports.values())
    assert config.get_string("odradek.metrics.listener") == f"0.0.0.0:{metrics_port}"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container[probe]["httpGet"]
        assert asked["path"] in PATHS
        assert asked["port"] == "metrics"


def configuration_of(found: dict[str, Any], mounted: str | None) -> ServerConfig:
    """The broker's configuration in the first pod, in the namespace shop. ``mounted``: the text of a mounted file."""
    environment = {one["name"]: one["value"] for one in container_of(found)["env"] if "value" in one}
    environment = {
        name: value.replace("$(POD_NAME)", "odradek-0").replace("$(POD_NAMESPACE)", "shop")
        for name, value in environment.items()
    }
    run = entry_point("entrypoint.py").command(["serve"], environment, mounted is not None)
    options = parser().parse_args(run[2:])
    text = (DOCKER / "server.properties").read_text() if mounted is None else mounted
    own = [line for line in text.splitlines() if line[:1] not in ("", "#")]
    return ServerConfig.load(None, own + options.override, {}, options.variable)
