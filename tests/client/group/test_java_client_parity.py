"""Our client computes the partitions of keys and the sticky assignor's user data as Java's clients do."""

import json
import random

import pytest

from odradek.client.group.assignors.sticky_owned import decode_previous_assignment, encode_previous_assignment
from odradek.client.types import TopicPartition
from odradek.protocol.java.murmur2 import murmur2, partition_for_key
from support.kafka.java import java_class, java_or_skip, run_class

SEED = 20260102


@pytest.mark.ci
@pytest.mark.java
def test_keys_and_user_data_are_javas() -> None:
    java_or_skip()
    chance = random.Random(SEED)
    keys = [(chance.randbytes(length % 70), chance.randint(1, 300)) for length in range(3_000)]
    members = []
    for _ in range(300):
        topics = [f"t{number}" for number in range(chance.randint(0, 5))]
        previous = [TopicPartition(t, n) for t in topics for n in chance.sample(range(50), chance.randint(1, 9))]
        members.append((previous, chance.randint(-1, 2**31 - 1)))
    questions: list[dict[str, object]] = [{"key": key.hex(), "partitions": count} for key, count in keys]
    questions += [{"previous": previous, "generation": generation} for previous, generation in members]
    result = run_class(
        java_class("ClientOracle"), standard_input="".join(json.dumps(question) + "\n" for question in questions)
    )
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(answers) == len(questions), result.stderr[-2000:]
    for (key, count), answer in zip(keys, answers[: len(keys)], strict=True):
        assert (murmur2(key), partition_for_key(key, count)) == (answer["hash"] & 0xFFFFFFFF, answer["partition"])
    for (previous, generation), answer in zip(members, answers[len(keys) :], strict=True):
        javas = bytes.fromhex(answer["userData"])
        partitions, read_generation = decode_previous_assignment(javas)
        assert (sorted(partitions), read_generation) == (sorted(previous), generation)
        ours = encode_previous_assignment(previous, generation)
        assert len(ours) == len(javas), "Java orders topics by their hashes"
        if len({partition.topic for partition in previous}) < 2:
            assert ours == javas
