"""A cluster of three Apache Kafka brokers is replaced by ours, broker by broker over the same directories, and back."""

from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

from support.kafka.real_controllers import RealControllers
from support.rolling.load import Load
from support.rolling.places import ADMIN_TIMEOUT_S, REPLICAS, Kind, Places
from support.rolling.reading import COUNTS, settle

pytestmark = [pytest.mark.java, pytest.mark.ci]


SESSION = {"broker.session.timeout.ms": "3000"}
"""A busy machine does not fence a broker that is there, and a broker that comes back waits 3 s at most."""


def rolled(directory: Path, kinds: list[Kind]) -> list[str]:
    """Replaces all brokers by each kind in turn, under load; the first kind is the one they start as."""
    report = []
    with (
        RealControllers(directory / "controllers", configs=SESSION) as controllers,
        Places(directory, controllers) as places,
    ):
        places.start(kinds[0])
        topics = [NewTopic(topic, partitions, REPLICAS) for topic, partitions in COUNTS.items()]
        for created in places.admin.create_topics(topics).values():
            created.result(ADMIN_TIMEOUT_S)
        load = Load(places.bootstrap_servers, directory)
        load.start()
        load.until_progress()
        for kind in kinds[1:]:
            for node_id in places.node_ids:
                places.replace(node_id, kind)
                load.until_progress()
        report.append(settle(load, places.bootstrap_servers))
        for node_id in places.node_ids:
            assert " ERROR " not in places[node_id].ours.log()
    return report


@pytest.mark.timeout(900)
def test_three_brokers_are_replaced_and_replaced_back_under_load(tmp_path: Path) -> None:
    """No client sees an error, and nothing is lost, repeated or set back."""
    print(rolled(tmp_path, ["kafka", "ours", "kafka"]))
