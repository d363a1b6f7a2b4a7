"""Tools of operators, built from their makers' sources, show the same of our broker and of a real Kafka."""

import asyncio
from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from support.kafka.real_kafka import RealKafka
from systems.gallery.looks import LOOKS
from systems.gallery.shop import furnish

pytestmark = [pytest.mark.nightly, pytest.mark.java]


@pytest.mark.timeout(1800)  # builds the tool
@pytest.mark.parametrize("tool", LOOKS)
def test_a_tool_shows_the_same(tool: str, tmp_path: Path) -> None:
    shown = {}
    for name, kind in {"ours": OurBroker, "kafka": RealKafka}.items():
        there = tmp_path / name
        there.mkdir()
        with kind(there) as broker:
            asyncio.run(furnish(broker.bootstrap_servers))
            shown[name] = LOOKS[tool](broker.bootstrap_servers, there)
    assert shown["kafka"], "the tool shows something"
    assert shown["ours"] == shown["kafka"]
