"""`odradek consume` needs two connections and one Metadata request to print a record."""

from pathlib import Path

import pytest

from odradek.client.commands.consume import consume
from odradek.testing.broker.in_process import InProcessBroker

FEWEST = ["ApiVersions", "Metadata", "ListOffsets", "ApiVersions", "Fetch"]
"""Each ApiVersions is a connection. Java's console consumer with ``--partition`` needs as many, in another order."""


@pytest.fixture
def broker(tmp_path: Path) -> InProcessBroker:
    return InProcessBroker(tmp_path)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", FEWEST),
        ("localhost", ["ApiVersions", "Metadata", "ApiVersions", "ListOffsets", "ApiVersions", "Fetch"]),
    ],
)
def test_a_bootstrap_server_at_the_address_of_the_leader_is_not_connected_to_again(
    broker: InProcessBroker, capfd: pytest.CaptureFixture[str], host: str, expected: list[str]
) -> None:
    with broker:
        broker.create_topic("t")
        broker.produce("t", b"hello")
        with broker.record() as traffic:
            words = ["--bootstrap-server", f"{host}:{broker.port}", "--topic", "t", "--from-beginning"]
            assert consume([*words, "--max-messages", "1"]) == 0
        assert capfd.readouterr().out == "hello\n"
        assert [one.api for one in traffic.requests(client_id="console-consumer")] == expected
