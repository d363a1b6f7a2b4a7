"""A real Kafka answers the scripts without virtual time as ours does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire

from ..scripts import play_script
from .parity import (
    ParityPlayer,
    RandomScript,
    create_topics,
    differences,
    is_suitable,
    wait_for_coordinators,
)

SCRIPTS = [path for path in sorted((Path(__file__).parent / "scripts").glob("*.txt")) if is_suitable(path)]
pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Wire, int, dict[str, str]]]:
    with RealKafka(tmp_path_factory.mktemp("kafka")) as kafka, Wire() as wire:
        wait_for_coordinators(wire, kafka.port)
        yield wire, kafka.port, create_topics(wire, kafka.port)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_real_kafka_answers_the_same(path: Path, real: tuple[Wire, int, dict[str, str]]) -> None:
    wire, port, topic_ids = real
    player = ParityPlayer(wire, port, f"{path.stem}-", topic_ids)
    play_script(path.read_text(), player)
    assert len(player.answered()) >= 5
    found = list(differences(player.answered()))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("seed", range(15))
def test_real_kafka_answers_random_members_the_same(seed: int, real: tuple[Wire, int, dict[str, str]]) -> None:
    wire, port, topic_ids = real
    player = ParityPlayer(wire, port, f"random{seed}-", topic_ids)
    player.play("config group_initial_rebalance_delay_ms=0")
    player.play_random(RandomScript(seed), 60)
    found = list(differences(player.answered()))
    assert not found, "\n".join([*player.commands, *found])
