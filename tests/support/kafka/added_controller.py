"""Another controller of Apache Kafka, which follows the log of a dynamic quorum and can become a voter (KIP-853)."""

from pathlib import Path
from typing import Self

from support.kafka.java import KAFKA_VERSION
from support.kafka.real_controllers import FAST
from support.kafka.real_kafka import CLUSTER_ID, RealKafka


class AddedController(RealKafka):
    """One controller that is not a voter yet. ``port`` and ``controller_port`` are the same."""

    def __init__(self, directory: Path, node_id: int, first: str, version: str = KAFKA_VERSION) -> None:
        """``first``: the address of a voter."""
        super().__init__(directory, version=version, node_id=node_id, heap="96m")
        self.port = self.controller_port
        self._first = first

    def __enter__(self) -> Self:
        self.start()
        return self

    @property
    def configuration(self) -> Path:
        """Its configuration file."""
        return self.directory / "server.properties"

    def properties(self) -> dict[str, str]:
        """The controller's configuration."""
        return {
            "process.roles": "controller",
            "node.id": str(self.node_id),
            "listeners": f"CONTROLLER://127.0.0.1:{self.controller_port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": self._first,
            "log.dirs": str(self.log_dir),
            **FAST,
        }

    def _format(self, configuration: Path) -> None:
        arguments = ["format", "-t", CLUSTER_ID, "-c", str(configuration), "--no-initial-controllers"]
        result = self.run_tool("kafka.tools.StorageTool", *arguments)
        if result.returncode != 0:
            raise RuntimeError(f"format failed: {result.stdout}{result.stderr}")
