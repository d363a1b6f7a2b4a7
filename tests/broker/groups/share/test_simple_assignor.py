"""The ``simple`` assignor against its rules, with a seeded generator."""

import random
from collections import Counter

import pytest

from odradek.broker.groups.modern.assignment import Assignment, GroupAssignment, GroupSpec, MemberSpec
from odradek.broker.groups.share.simple_assignor import assign_in_steps
from odradek.protocol.common.steps import run_to_end

TOPICS = [bytes([number]) * 16 for number in range(4)]
Assignable = dict[bytes, frozenset[int]]


def assign(members: dict[str, MemberSpec], assignable: Assignable) -> GroupAssignment:
    alike = len({spec.subscribed_topic_ids for spec in members.values()}) <= 1
    return run_to_end(assign_in_steps(GroupSpec(members, alike), assignable))


def check_shares(members: list[str], topics: set[bytes], assignable: Assignable, found: GroupAssignment) -> None:
    """Asserts the limits for members that share the partitions of some topics."""
    sizes = [sum(len(found[one].get(topic, ())) for topic in topics) for one in members]
    wanted = {(topic, index) for topic in topics for index in assignable.get(topic, ())}
    readers = Counter((topic, index) for one in members for topic in topics for index in found[one].get(topic, ()))
    assert readers.keys() == wanted
    if wanted:
        assert max(sizes) - min(sizes) <= 1
        assert set(readers.values()) == {-(-len(members) // len(wanted))}


def check(members: dict[str, MemberSpec], assignable: Assignable, found: GroupAssignment) -> None:
    assert found.keys() == members.keys()
    assert all(partitions for target in found.values() for partitions in target.values())
    subscriptions = {spec.subscribed_topic_ids for spec in members.values()}
    if len(subscriptions) == 1:
        check_shares(list(members), set(*subscriptions), assignable, found)
        return
    for topic in TOPICS:
        subscribers = [one for one, spec in members.items() if topic in spec.subscribed_topic_ids]
        if subscribers:
            check_shares(subscribers, {topic}, assignable, found)
    assert all(found[one].keys() <= spec.subscribed_topic_ids for one, spec in members.items())


@pytest.mark.parametrize("seed", range(300))
def test_limits_hold_while_a_group_changes(seed: int) -> None:
    """Replay one seed: pytest -k "test_limits_hold_while_a_group_changes[SEED]"."""
    chance = random.Random(seed)
    alike = chance.random() < 0.6
    everything = frozenset(TOPICS)
    members: dict[str, MemberSpec] = {}
    assignable: Assignable = {topic: frozenset(range(chance.randint(0, 6))) for topic in TOPICS}
    largest = chance.choice((3, 8, 40))
    for _ in range(15):
        choice = chance.random()
        if choice < 0.5 and len(members) < largest:
            names = everything if alike else frozenset(chance.sample(TOPICS, chance.randint(1, 4)))
            members[f"m{chance.randrange(1_000)}"] = MemberSpec(names, None, None, {})
        elif choice < 0.75 and members:
            del members[chance.choice(sorted(members))]
        else:
            topic = chance.choice(TOPICS)
            assignable[topic] = frozenset(range(chance.choice((0, len(assignable[topic]) + chance.randint(0, 5)))))
        found = assign(members, assignable)
        check(members, assignable, found)
        members = {one: MemberSpec(spec.subscribed_topic_ids, None, None, found[one]) for one, spec in members.items()}
        assert assign(members, assignable) == found, "without a change, nothing moves"


def kept(before: Assignment, after: Assignment) -> int:
    return sum(len(partitions & after.get(topic, frozenset())) for topic, partitions in before.items())


@pytest.mark.parametrize(("count", "partitions"), [(2, 12), (3, 7), (5, 5), (4, 40)])
def test_members_keep_what_fits_when_another_joins(count: int, partitions: int) -> None:
    topic = TOPICS[0]
    assignable = {topic: frozenset(range(partitions))}
    names = frozenset({topic})
    members = {f"m{number}": MemberSpec(names, None, None, {}) for number in range(count)}
    before = assign(members, assignable)
    joined = {one: MemberSpec(names, None, None, before[one]) for one in members}
    joined["m9"] = MemberSpec(names, None, None, {})
    after = assign(joined, assignable)
    if partitions >= len(joined):
        moved = partitions - sum(kept(before[one], after[one]) for one in members)
        assert moved == len(after["m9"][topic])


def test_members_that_have_to_exchange_partitions() -> None:
    """The last partition misses a reader, and the only member with room reads it already."""
    topic = TOPICS[0]
    names = frozenset({topic})
    targets = [{0, 1}, {0, 1}, {2}, {2}]
    members = {
        f"m{number}": MemberSpec(names, None, None, {topic: frozenset(target)}) for number, target in enumerate(targets)
    }
    check(members, {topic: frozenset(range(3))}, assign(members, {topic: frozenset(range(3))}))


def test_no_members_and_no_partitions() -> None:
    assert assign({}, {}) == {}
    member = MemberSpec(frozenset(TOPICS), None, None, {TOPICS[0]: frozenset({1})})
    assert assign({"m": member}, {}) == {"m": {}}
