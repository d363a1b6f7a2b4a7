"""Odradek answers the questions of the corpus as Kafka did when they were recorded, and Kafka still does."""

import subprocess
import sys
from pathlib import Path

import pytest

from answers.corpus import FILES, read
from answers.record import RECORDED
from answers.replay import Replay
from parity.two_brokers import KAFKA_KEYS
from support.brokers.our_broker import OurBroker
from support.kafka.java import KAFKA_VERSION
from support.kafka.real_kafka import RealKafka
from support.pages import blocks
from support.pipeline.wheel import ROOT

PATHS = [FILES / f"{name}.jsonl" for name in RECORDED]


def name_of(path: Path) -> str:
    """The id of a case."""
    return path.stem


@pytest.mark.parametrize("path", PATHS, ids=name_of)
def test_our_broker_answers_as_kafka_did(path: Path, tmp_path: Path) -> None:
    answers = read(path)
    with OurBroker(tmp_path, answers.configs) as broker, Replay(broker.port, answers.clients) as replay:
        found = replay.differences(answers)
    assert not found, "\n".join(map(str, found))


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.parametrize("path", PATHS, ids=name_of)
def test_kafka_answers_as_it_did(path: Path, tmp_path: Path) -> None:
    answers = read(path)
    assert answers.kafka == KAFKA_VERSION, "make record"
    kafka = RealKafka(tmp_path, {**KAFKA_KEYS, **answers.configs}, version=answers.kafka)
    with kafka, Replay(kafka.port, answers.clients) as replay:
        found = replay.differences(answers)
    assert not found, "\n".join(map(str, found))


def test_the_program_of_the_page_asks_a_broker(tmp_path: Path) -> None:
    (block,) = [one for one in blocks("docs/kafka-answers.md") if one.heading == "Ask another broker"]
    answers = read(FILES / "test_traps_fetch.jsonl")
    with OurBroker(tmp_path, answers.configs) as broker:
        command = block.text.replace("9092", str(broker.port)).replace("python ", f"{sys.executable} ")
        ended = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_every_file_of_the_corpus_is_recorded_by_make_record() -> None:
    assert sorted(FILES.glob("*.jsonl")) == sorted(PATHS)
