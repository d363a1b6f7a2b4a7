"""The ``docker`` command line of a container with one broker. Pure.

Source: the variables are those of Apache Kafka's image (``KafkaDockerWrapper``). That image replaces its whole default
configuration as soon as one variable is set, so these are enough for a single node.
"""

from collections.abc import Mapping

from ..broker.config_values import ConfigValue, config_text

HOST = "127.0.0.1"
CONTROLLER = "CONTROLLER://localhost:9093"
CLUSTER_ID = "T2RyYWRla1Rlc3RzAAAAAQ"
"""Confluent's image needs one; the others would make one."""
SINGLE_NODE = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.quorum.voters": "1@localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}
"""The configs of a single node: no replicas, and groups that do not wait for more members."""
TAKEN = ("port is already allocated", "address already in use")
"""The ends of Docker's errors for a port that another program has."""


def run_command(image: str, name: str, port: int, configs: Mapping[str, ConfigValue]) -> list[str]:
    """Starts a container in the background whose broker listens on ``port`` of this machine, and has ``configs``.

    The broker has the same port in the container: it must reach its advertised address itself, to end transactions.
    """
    command = ["docker", "run", "--detach", "--name", name, "--publish", f"{HOST}:{port}:{port}"]
    for variable, value in variables(port, configs).items():
        command += ["--env", f"{variable}={value}"]
    return [*command, image]


def variables(port: int, configs: Mapping[str, ConfigValue]) -> dict[str, str]:
    """The environment of the container. ``configs`` win over the defaults, but not over the listeners."""
    listeners = {
        "listeners": f"PLAINTEXT://:{port},{CONTROLLER}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
    }
    given = {key: config_text(key, value) for key, value in configs.items()}
    keys = {**SINGLE_NODE, **given, **listeners}
    return {"CLUSTER_ID": CLUSTER_ID, **{variable_of(key): value for key, value in keys.items()}}


def variable_of(key: str) -> str:
    """The variable that sets a configuration key."""
    return "KAFKA_" + key.replace("_", "__").replace("-", "___").replace(".", "_").upper()


def is_port_taken(error: str) -> bool:
    """Whether ``docker run`` failed because another program has the port."""
    return any(text in error for text in TAKEN)
