"""The ten commands of docs/security.md, run unchanged except for the port."""

import re
from pathlib import Path

import pytest

from support.brokers.free_ports import free_port
from support.eventually import eventually
from support.shell import Shell

PAGE = Path(__file__).parent.parent.parent / "docs" / "security.md"
HEADING = "From nothing to TLS, users and ACLs"
CERTIFICATES, USERS = range(2)
SERVER, ADMIN = range(2)


def blocks(kind: str) -> list[str]:
    text = PAGE.read_text().partition(f"\n## {HEADING}\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.ci
def test_the_commands_of_the_page(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    port = str(free_port())
    for command in blocks("sh")[CERTIFICATES].splitlines():
        shell.run(command)
    properties = [text.replace("9093", port) for text in blocks("properties")]
    (tmp_path / "server.properties").write_text(properties[SERVER])
    (tmp_path / "admin.properties").write_text(properties[ADMIN])
    (tmp_path / "alice.properties").write_text(properties[ADMIN].replace("admin", "alice"))
    make, serve, user, acl, produce, consume = blocks("sh")[USERS].replace("9093", port).splitlines()
    shell.run(make)
    with shell.start(f"exec {serve} --ready-file ready.json") as broker:
        try:
            eventually(
                "it serves or has ended", lambda: (tmp_path / "ready.json").exists() or broker.poll() is not None
            )
            assert broker.poll() is None, broker.communicate()[0]
            assert "alice" in shell.run(user)
            assert "User:alice" in shell.run(acl)
            shell.run(produce, "hello\n")
            assert "hello" in shell.run(f"{consume} --max-messages 1")
            refused = shell.start(produce.replace("orders", "others"))
            assert "TOPIC_AUTHORIZATION_FAILED" in refused.communicate("no\n")[0]
        finally:
            broker.terminate()
            said = broker.communicate()[0]
    assert "stopped cleanly" in said
    assert "secret" not in said
