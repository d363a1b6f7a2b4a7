"""The commands and the configurations of docs/security.md and docs/cluster.md that no other test runs.

``tests/clients/test_security_page.py`` follows the part from nothing to TLS, users and ACLs.
"""

from pathlib import Path

import pytest

from odradek.broker.config.errors import ConfigError
from odradek.broker.config.server_config import ServerConfig
from odradek.testing.security.certificates import CertificateAuthority
from support.brokers.our_broker import OurBroker
from support.pages import Block, blocks, only_block
from support.reader import Reader

PAGE = "docs/security.md"
CONFIGURATIONS = [
    block
    for page in (PAGE, "docs/cluster.md")
    for block in blocks(page)
    if block.language == "properties" and block.heading != "From nothing to TLS, users and ACLs"
]
OF_A_CLUSTER = ["controller.quorum.bootstrap.servers=localhost:9093"]
"""What the page about clusters has added to the keys of a broker there."""

pytestmark = pytest.mark.ci


@pytest.mark.parametrize("block", CONFIGURATIONS, ids=lambda block: f"{block.heading}-{block.line}")
def test_a_configuration_has_known_keys_and_valid_values(block: Block) -> None:
    in_a_cluster = "process.roles=broker\n" in block.text and "controller.quorum." not in block.text
    needed = OF_A_CLUSTER if in_a_cluster else []
    config = ServerConfig.load(block.text, needed, {})
    named = dict(line.split("=", 1) for line in block.text.splitlines() if line[0] != "#")
    assert named.items() <= config.originals.items()
    # The test can fail: a misspelt key is refused.
    with pytest.raises(ConfigError, match="Unknown key"):
        ServerConfig.load(f"un.{block.text}", [], {})


def test_the_first_user_is_made_with_the_directory(tmp_path: Path) -> None:
    heading = "Passwords: SASL PLAIN and SCRAM"
    keys = only_block(PAGE, heading, "properties").text
    (tmp_path / "server.properties").write_text(f"{keys}log.dirs=data\nnode.id=1\n")
    (said,) = Reader(tmp_path).run_block(only_block(PAGE, heading, "sh"))
    assert "Formatting" in said
    assert (tmp_path / "data" / "meta.properties").is_file()


def test_certificates_are_changed_and_acls_and_quotas_set(tmp_path: Path) -> None:
    authority = CertificateAuthority()
    store = str(authority.issue("broker", ["localhost", "127.0.0.1"]).write_pem(tmp_path / "broker.pem"))
    keys = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0",
        "ssl.keystore.location": store,
        "ssl.keystore.type": "PEM",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with OurBroker(tmp_path, keys) as broker:
        reader = Reader(tmp_path)
        here = ("localhost:9092", broker.bootstrap_servers)
        rotate = only_block(PAGE, "Rotating certificates", "sh")
        (said,) = reader.run_block(rotate, here, ("/etc/odradek/broker.pem", store))
        assert "Completed updating config for broker 1" in said
        acls = reader.run_block(only_block(PAGE, "ACLs", "sh"), here)
        assert all("host=10.0.0." in one for one in acls)
        quotas = reader.run_block(
            only_block(PAGE, "Quotas", "sh"), here, ("kafka-configs.sh", "odradek kafka-configs.sh")
        )
        assert len([one for one in quotas if "Completed updating" in one]) == 2
