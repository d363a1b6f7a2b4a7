"""The manifests for Kubernetes: valid by the schemas of its API, and what they configure is what the broker knows."""

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


def test_it_is_valid_and_configures_the_broker(schemas: Path, tmp_path: Path) -> None:
    run = validated(schemas, MANIFEST)
    assert run.returncode == 0, run.stderr
    service, stateful_set = json.loads(run.stdout)
    (container,) = stateful_set["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert {port["targetPort"]: port["port"] for port in service["spec"]["ports"]} == ports
    config = configuration_of(container)
    assert [listener.port for listener in config.listeners] == [ports["kafka"]]
    assert config["advertised.listeners"] == ("PLAINTEXT://odradek-0.odradek.shop.svc:9092",)
    assert config.get_string("odradek.metrics.listener") == f"0.0.0.0:{ports['metrics']}"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container[probe]["httpGet"]
        assert asked["path"] in PATHS
        assert asked["port"] == "metrics"
    (mount,) = container["volumeMounts"]
    assert config["log.dirs"] in (mount["mountPath"], (mount["mountPath"],))
    # The test can fail: a misspelt field is refused.
    broken = tmp_path / "broken.yaml"
    broken.write_text(MANIFEST.read_text().replace("serviceName:", "servicename:"))
    assert "servicename" in validated(schemas, broken).stderr


def configuration_of(container: dict[str, Any]) -> ServerConfig:
    """The broker's configuration in the first pod, in the namespace shop."""
    environment = {one["name"]: one["value"] for one in container["env"] if "value" in one}
    environment = {
        name: value.replace("$(POD_NAME)", "odradek-0").replace("$(POD_NAMESPACE)", "shop")
        for name, value in environment.items()
    }
    run = entry_point("entrypoint.py").command(["serve"], environment, False)
    options = parser().parse_args(run[2:])
    own = [line for line in (DOCKER / "server.properties").read_text().splitlines() if line[:1] not in ("", "#")]
    return ServerConfig.load(None, own + options.override, {}, options.variable)
