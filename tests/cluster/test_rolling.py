"""A cluster of three Apache Kafka brokers becomes one of ours under load, broker by broker, and back."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

from cluster.rolling.java_clients import TOPIC as VERIFIED
from cluster.rolling.java_clients import JavaClients
from cluster.rolling.load import Load
from cluster.rolling.places import ADMIN_TIMEOUT_S, QUORUM, REPLICAS, Kind, Places
from cluster.rolling.reading import settle
from support.fire.run import COUNTS
from support.kafka.java import run_class
from support.kafka.real_controllers import RealControllers

pytestmark = [pytest.mark.java, pytest.mark.timeout(1800)]

FIRST_THREE, OTHER_THREE = (1, 2, 3), (4, 5, 6)


@contextlib.contextmanager
def under_load(directory: Path, count: int = REPLICAS) -> Iterator[tuple[Places, Load]]:
    """Brokers 1 to 3 are Apache Kafka's, and all clients work. At the end everything is compared.

    No client may have an error, and no record may be lost, duplicated or reverted. ``count``: the number of places.
    """
    with (
        RealControllers(directory / "controllers", configs=QUORUM) as controllers,
        Places(directory, controllers, count=count) as places,
    ):
        places.start("kafka", FIRST_THREE)
        topics = [NewTopic(topic, partitions, REPLICAS) for topic, partitions in COUNTS.items()]
        for created in places.admin.create_topics(topics).values():
            created.result(ADMIN_TIMEOUT_S)
        load = Load(places.bootstrap_servers, directory)
        load.start()
        load.until_progress()
        yield places, load
        print("\n" + settle(load, places.bootstrap_servers))
        for node_id in places.node_ids:
            assert " ERROR " not in places[node_id].our_log()


def replace_each(places: Places, load: Load, kinds: list[Kind]) -> None:
    """Replaces all brokers by each kind in turn, over their directories."""
    for kind in kinds:
        for node_id in FIRST_THREE:
            places.replace(node_id, kind)
            load.until_progress()


@pytest.mark.nightly
def test_three_brokers_are_replaced_and_replaced_back_under_load(tmp_path: Path) -> None:
    """Each broker is replaced in place, the next one once all ISRs are full."""
    with under_load(tmp_path) as (places, load):
        replace_each(places, load, ["ours", "kafka"])


@pytest.mark.long
def test_three_brokers_are_replaced_again_and_again_under_load(tmp_path: Path) -> None:
    """In both directions three times (``ROLLING_ROUNDS``), with Apache Kafka's own clients, too."""
    with under_load(tmp_path) as (places, load):
        new = NewTopic(VERIFIED, 3, REPLICAS)
        places.admin.create_topics([new])[VERIFIED].result(ADMIN_TIMEOUT_S)
        with JavaClients(places.bootstrap_servers, tmp_path) as java:
            replace_each(places, load, ["ours", "kafka"] * int(os.environ.get("ROLLING_ROUNDS", "3")))
            print("\n" + java.settle())


@pytest.mark.long
def test_partitions_move_to_new_brokers_and_back_under_load(tmp_path: Path) -> None:
    """Brokers with other ids join and take over all replicas, and the former ones leave. Then the reverse."""
    with under_load(tmp_path, count=6) as (places, load):
        for kind, joining, leaving in (("ours", OTHER_THREE, FIRST_THREE), ("kafka", FIRST_THREE, OTHER_THREE)):
            places.start("ours" if kind == "ours" else "kafka", joining)
            places.move_all(joining, tmp_path)
            places.until_full_isr()
            places.elect_preferred()
            load.until_progress()
            for node_id in leaving:
                places[node_id].stop()
                unregister(places, node_id)
            load.until_progress()


def unregister(places: Places, node_id: int) -> None:
    """Removes a broker from the cluster's metadata, with Kafka's tool."""
    arguments = ("unregister", "--bootstrap-server", places.bootstrap_servers, "--id", str(node_id))
    result = run_class("org.apache.kafka.tools.ClusterTool", *arguments, timeout_s=120)
    assert result.returncode == 0, result.stdout + result.stderr
