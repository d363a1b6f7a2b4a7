"""The server-side assignors compared with Kafka's own classes, and their guarantees."""

import json
import random
from collections import Counter

import pytest

from odradek.broker.groups.consumer.assignors import range as range_assignor
from odradek.broker.groups.consumer.assignors import uniform
from odradek.broker.groups.modern.assignment import GroupSpec, MemberSpec, PartitionAssignorError
from support.kafka.java import java_class, java_or_skip, run_class

from .assignor_specs import History, Question, Topics, readable, uuid_text

T, U = b"t" * 16, b"u" * 16


def ask_kafka(questions: list[Question]) -> list[dict[str, object]]:
    """The answers of Kafka's assignors, without members that own nothing."""
    java_or_skip()
    lines = "\n".join(question.line() for question in questions)
    result = run_class(java_class("ServerAssignors"), standard_input=lines, timeout_s=1_200)
    assert result.returncode == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    return [{member: owned for member, owned in answer.items() if owned} for answer in answers]


def compare(seeds: range, rounds: int) -> None:
    questions = [question for seed in seeds for question in History(seed).questions(rounds)]
    answers = ask_kafka(questions)
    for question, answer in zip(questions, answers, strict=True):
        assert readable(question.answer()) == answer, question.line()


@pytest.mark.java
def test_equal_to_kafkas_own_classes() -> None:
    compare(range(60), 16)


@pytest.mark.ci
@pytest.mark.java
def test_equal_to_kafkas_own_classes_over_many_histories() -> None:
    compare(range(1_000, 1_500), 20)


@pytest.mark.ci
@pytest.mark.java
def test_equal_to_kafkas_own_classes_in_a_large_group() -> None:
    """1,000 members and 2,000 partitions, then with one member less and one more; with equal and with different
    subscriptions.
    """
    chance = random.Random(5)
    topics = Topics({chance.randbytes(16): 40 for _ in range(50)})
    ids = [uuid_text(chance.randbytes(16)) for _ in range(1_001)]
    everything = frozenset(topics)
    questions = []
    for alike in (True, False):
        members = {}
        for member_id in ids:
            some = frozenset(chance.sample(sorted(topics), chance.randint(1, 50)))
            members[member_id] = MemberSpec(everything if alike else some, None, None, {})
        for name, assign in (("uniform", uniform.assign), ("range", range_assignor.assign)):
            first = GroupSpec(dict(list(members.items())[:1_000]), alike)
            assigned = assign(first, topics)
            later = {
                member_id: MemberSpec(member.subscribed_topic_ids, None, None, assigned.get(member_id, {}))
                for member_id, member in list(members.items())[1:]
            }
            questions += [Question(name, first, topics), Question(name, GroupSpec(later, alike), topics)]
    for question, answer in zip(questions, ask_kafka(questions), strict=True):
        assert readable(question.answer()) == answer


@pytest.mark.parametrize("seed", range(40))
def test_every_partition_has_one_owner_who_subscribes_to_it(seed: int) -> None:
    for question in History(seed, members=30).questions(12):
        assignment = question.answer()
        if assignment is None:
            continue
        owned: Counter[tuple[bytes, int]] = Counter()
        for member_id, topics in assignment.items():
            assert topics.keys() <= question.spec.members[member_id].subscribed_topic_ids
            assert all(topics.values()), "a topic without partitions is left out"
            owned.update((topic, partition) for topic, partitions in topics.items() for partition in partitions)
        subscribed = {topic for member in question.spec.members.values() for topic in member.subscribed_topic_ids}
        everything = {(topic, partition) for topic in subscribed for partition in range(question.topics[topic])}
        assert owned == dict.fromkeys(everything, 1)


@pytest.mark.parametrize("seed", range(40))
def test_uniform_is_balanced_first_and_then_sticky(seed: int) -> None:
    for question in History(seed, members=30).questions(12):
        assignment = question.answer()
        if question.assignor != "uniform" or not question.spec.is_homogeneous or not assignment:
            continue
        sizes = {member: sum(map(len, topics.values())) for member, topics in assignment.items()}
        assert max(sizes.values()) - min(sizes.values()) <= 1
        for member_id, member in question.spec.members.items():
            before = {
                (topic, partition)
                for topic, partitions in member.assignment.items()
                if topic in member.subscribed_topic_ids
                for partition in partitions
            }
            after = {
                (topic, partition) for topic, partitions in assignment[member_id].items() for partition in partitions
            }
            assert len(before - after) == max(0, len(before) - sizes[member_id]), "a partition moved that need not"


def test_range_puts_static_members_first_and_gives_equal_numbers_of_every_topic() -> None:
    everything = frozenset((T, U))
    members = {
        "a": MemberSpec(everything, None, None, {}),
        "b": MemberSpec(everything, "z", None, {}),
        "c": MemberSpec(everything, "y", None, {}),
    }
    assignment = range_assignor.assign(GroupSpec(members, True), Topics({T: 4, U: 4}))
    for topic in (T, U):
        owned = {member: set(topics[topic]) for member, topics in assignment.items()}
        assert owned == {"c": {0, 1}, "b": {2}, "a": {3}}


@pytest.mark.parametrize("is_homogeneous", [True, False])
@pytest.mark.parametrize("assign", [uniform.assign, range_assignor.assign])
def test_a_topic_that_does_not_exist_is_refused(assign: object, is_homogeneous: bool) -> None:
    members = {"a": MemberSpec(frozenset((T,)), None, None, {})}
    with pytest.raises(PartitionAssignorError):
        assign(GroupSpec(members, is_homogeneous), Topics())  # type: ignore[operator]


@pytest.mark.parametrize("is_homogeneous", [True, False])
def test_members_without_topics_own_nothing(is_homogeneous: bool) -> None:
    members = {"a": MemberSpec(frozenset(), None, None, {T: frozenset((0, 1))})}
    for assign in (uniform.assign, range_assignor.assign):
        assert not any(assign(GroupSpec(members, is_homogeneous), Topics({T: 2})).values())
        assert assign(GroupSpec({}, is_homogeneous), Topics()) == {}
