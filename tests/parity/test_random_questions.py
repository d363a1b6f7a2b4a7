"""Odradek and a real Kafka answer the same random requests equally.

Everything is drawn from one seed. A difference prints the request, both answers, and the command that repeats it:
``PARITY_SEED=<seed> PARITY_COUNT=<n> pytest tests/parity``.
"""

import os

import pytest

from odradek.broker.dispatch.served import SERVED, TELEMETRY, served_versions
from odradek.protocol.apis.api_keys import ApiKey
from parity.questions import Questions
from parity.two_brokers import TwoBrokers
from parity.world import comparable
from support.data.messages import to_json

pytestmark = pytest.mark.java


def run(both: TwoBrokers, seed: int, count: int) -> None:
    questions = Questions(seed, both.versions)
    differences = []
    opening = questions.opening()
    for number in range(count):
        question = opening[number] if number < len(opening) else questions.next()
        request, ours, kafka = both.ask(question)
        if request.NAME == "OffsetFetchRequest":
            # Kafka removes the offsets of a deleted topic after it has answered the deletion.
            expected = comparable(ours)
            if comparable(kafka) != expected:
                kafka = both.ask_kafka_again(question, lambda answer, e=expected: comparable(answer) == e)  # type: ignore[misc]
        if comparable(ours) != comparable(kafka):
            differences.append(
                f"question {number}: {request.NAME} version {question[0]}: {to_json(request, question[0])}\n"
                f"  ours:  {comparable(ours)}\n  Kafka: {comparable(kafka)}"
            )
            if len(differences) >= 10:
                break
    again = f"PARITY_SEED={seed} PARITY_COUNT={count} pytest {os.path.relpath(__file__)}"
    assert not differences, "\n".join([*differences, again])


def test_the_same_random_questions(both: TwoBrokers) -> None:
    run(both, int(os.environ.get("PARITY_SEED", "1")), int(os.environ.get("PARITY_COUNT", "300")))


@pytest.mark.ci
def test_two_thousand_random_questions(both: TwoBrokers) -> None:
    run(both, 2, 2_000)


@pytest.mark.long
def test_fifty_thousand_random_questions(both: TwoBrokers) -> None:
    run(both, int(os.environ.get("PARITY_SEED", "3")), 50_000)


SINCE_44: dict[int, int] = {
    ApiKey.API_VERSIONS: 5,
    ApiKey.TXN_OFFSET_COMMIT: 6,
    ApiKey.DELETE_GROUPS: 3,
    ApiKey.STREAMS_GROUP_HEARTBEAT: 1,
    ApiKey.STREAMS_GROUP_DESCRIBE: 1,
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: 0,
}
"""The highest versions of Kafka 4.4, where those of the Kafka of this test are lower."""


def test_what_is_served_is_what_is_announced(both: TwoBrokers) -> None:
    announced = both._versions(both.ours)
    assert announced == {int(key): served_versions(key) for key in SERVED.keys() - TELEMETRY}
    for key, (lowest, highest) in announced.items():
        if key in SINCE_44:
            assert highest == SINCE_44[key]
            continue
        kafka_lowest, kafka_highest = both._kafka_versions[key]
        assert lowest <= kafka_lowest
        assert highest == kafka_highest
