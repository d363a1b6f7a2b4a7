"""Controllers are added to the quorum and removed from it through a broker of ours (KIP-853)."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.added_controller import AddedController
from support.kafka.real_controllers import FAST, MEMBER, format_member
from support.kafka.real_kafka import RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]

ADDED, OURS = 2, 3


def quorum(broker: OurBroker, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Runs ``odradek metadata-quorum`` against a broker."""
    command = [sys.executable, "-m", "odradek", "metadata-quorum", "--bootstrap-server", broker.bootstrap_servers]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)


def voters(broker: OurBroker) -> list[int]:
    """The node ids of the voters, as the broker passes on the answer."""
    status = quorum(broker, "describe", "--status").stdout
    found = re.search(r"CurrentVoters:\s*(\[.*?\])\n", status)
    return [] if found is None else [one["id"] for one in json.loads(found[1])]


def test_controller_is_added_and_removed_through_our_broker(tmp_path: Path) -> None:
    configs = {"controller.quorum.auto.join.enable": "false", **FAST}
    with RealKafka(tmp_path / "first", configs, heap="160m") as kafka:
        first = f"127.0.0.1:{kafka.controller_port}"
        identity = {"node.id": str(OURS), "controller.quorum.bootstrap.servers": first}
        broker = OurBroker(tmp_path / "ours", {**MEMBER, **identity})
        format_member(broker.log_dir, OURS)
        with AddedController(tmp_path / "second", ADDED, first) as second, broker:
            add = ("--command-config", str(second.configuration), "add-controller")
            # The leader accepts a voter only if it has caught up.
            eventually("the controller is added", lambda: quorum(broker, *add).returncode == 0)
            assert voters(broker) == [kafka.node_id, ADDED]
            [directory_id] = re.findall(r"directory.id=(\S+)", (second.log_dir / "meta.properties").read_text())
            remove = ("--controller-id", str(ADDED), "--controller-directory-id", directory_id)
            removed = quorum(broker, "remove-controller", *remove)
            assert removed.returncode == 0, removed.stderr
            assert voters(broker) == [kafka.node_id]
