"""A cluster whose metadata.version is raised while our broker runs: the broker registers its directories."""

from pathlib import Path

import pytest

from odradek.broker.metadata.log.log_reader import plain_records
from odradek.protocol.messages.metadata_records import RegisterBrokerRecord
from odradek.protocol.records.batch import iterate_headers
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.java import run_class
from support.kafka.real_controllers import RealControllers

pytestmark = [pytest.mark.java, pytest.mark.ci]

BEFORE_DIRECTORIES = 14
"""3.6-IV2: registrations have no directories before 3.7-IV2 (17)."""


def registered_directories(broker: OurBroker) -> list[list[bytes]]:
    """The log directories in each registration, from the broker's copy of the metadata log."""
    found: list[list[bytes]] = []
    for path in sorted((broker.log_dir / "__cluster_metadata-0").glob("*.log")):
        data = path.read_bytes()
        whole = sum(header.size_in_bytes for _, header in iterate_headers(data))
        messages = [record.message for record in plain_records(data[:whole], path)]
        found += [list(one.log_dirs) for one in messages if isinstance(one, RegisterBrokerRecord)]
    return found


def test_directories_are_registered_once_metadata_version_has_them(tmp_path: Path) -> None:
    old = {"metadata.version": BEFORE_DIRECTORIES}
    with (
        RealControllers(tmp_path / "controllers", features=old) as controllers,
        controllers.broker(tmp_path / "b1", 1) as broker,
    ):
        assert registered_directories(broker) == [[]]
        raised = run_class(
            "org.apache.kafka.tools.FeatureCommand",
            *("--bootstrap-server", broker.bootstrap_servers, "upgrade", "--metadata", "4.0-IV0"),
        )
        assert raised.returncode == 0, raised.stdout + raised.stderr
        eventually("the controllers have the directories", lambda: len(registered_directories(broker)[-1]) == 1)
        assert broker.stop() == 0
        assert len(registered_directories(broker)) == 2, "it registered once more"
        assert " ERROR " not in broker.log()
