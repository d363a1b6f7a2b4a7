"""Assignors give every partition to exactly one subscriber. Range and round-robin equal Java's; sticky is balanced and
stable."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from odradek.client.group.assignors.by_name import ASSIGNORS
from odradek.client.group.assignors.range import range_assignor
from odradek.client.group.assignors.round_robin import round_robin_assignor
from odradek.client.group.assignors.sticky import cooperative_sticky_assignor, sticky_assignor
from odradek.client.group.assignors.sticky_owned import (
    decode_previous_assignment,
    encode_generation,
    encode_previous_assignment,
)
from odradek.client.group.assignors.subscriptions import Assignment, Assignor, MemberSubscription, TopicPartitions
from odradek.client.types import TopicPartition

TOPICS = ["a", "b", "c"]


def assign(assignor: Assignor, members: dict[str, MemberSubscription], counts: dict[str, int]) -> Assignment:
    return assignor(members, TopicPartitions(counts))


def members(**topics: list[str]) -> dict[str, MemberSubscription]:
    return {name: MemberSubscription(topics=wanted) for name, wanted in topics.items()}


def partitions(*texts: str) -> list[TopicPartition]:
    return [TopicPartition(text[0], int(text[1:])) for text in texts]


def test_range_gives_the_first_members_one_more_in_each_topic() -> None:
    # Kafka's RangeAssignor, class comment: two topics of three partitions, two members.
    assert assign(range_assignor, members(C0=["a", "b"], C1=["a", "b"]), {"a": 3, "b": 3}) == {
        "C0": partitions("a0", "a1", "b0", "b1"),
        "C1": partitions("a2", "b2"),
    }


def test_range_leaves_out_members_that_do_not_subscribe_and_topics_that_do_not_exist() -> None:
    given_members = members(x=["a"], y=["a", "b"], z=["gone"])
    assert assign(range_assignor, given_members, {"a": 3, "b": 2}) == {
        "x": partitions("a0", "a1"),
        "y": partitions("a2", "b0", "b1"),
        "z": [],
    }


def test_round_robin_deals_partitions_in_turn() -> None:
    # Kafka's RoundRobinAssignor, class comment.
    assert assign(round_robin_assignor, members(C0=["a", "b"], C1=["a", "b"]), {"a": 3, "b": 3}) == {
        "C0": partitions("a0", "a2", "b1"),
        "C1": partitions("a1", "b0", "b2"),
    }


def test_round_robin_skips_members_that_do_not_subscribe() -> None:
    # Kafka's RoundRobinAssignor, class comment: topics of 1, 2 and 3 partitions, unequal subscriptions.
    given_members = members(C0=["a"], C1=["a", "b"], C2=["a", "b", "c"])
    assert assign(round_robin_assignor, given_members, {"a": 1, "b": 2, "c": 3}) == {
        "C0": partitions("a0"),
        "C1": partitions("b0"),
        "C2": partitions("b1", "c0", "c1", "c2"),
    }


def test_static_members_come_first_in_the_order_of_their_instance_ids() -> None:
    given_members = {
        "z": MemberSubscription(topics=["a"], group_instance_id="instance-1"),
        "y": MemberSubscription(topics=["a"], group_instance_id="instance-2"),
        "a": MemberSubscription(topics=["a"]),
    }
    assert assign(range_assignor, given_members, {"a": 4}) == {
        "z": partitions("a0", "a1"),
        "y": partitions("a2"),
        "a": partitions("a3"),
    }


@st.composite
def groups(draw: st.DrawFn) -> tuple[dict[str, MemberSubscription], dict[str, int]]:
    names = draw(st.lists(st.sampled_from("mnopqr"), min_size=1, unique=True))
    wanted = st.lists(st.sampled_from(TOPICS), min_size=1, unique=True)
    subscriptions = {name: MemberSubscription(topics=draw(wanted)) for name in names}
    return subscriptions, draw(st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 9)))


def check_complete(
    assignment: Assignment, subscriptions: dict[str, MemberSubscription], counts: dict[str, int]
) -> None:
    subscribed = {topic for member in subscriptions.values() for topic in member.topics}
    expected = Counter(TopicPartition(t, p) for t, n in counts.items() if t in subscribed for p in range(n))
    assert Counter(partition for owned in assignment.values() for partition in owned) == expected
    for member_id, owned in assignment.items():
        assert {partition.topic for partition in owned} <= set(subscriptions[member_id].topics)


@given(groups())
def test_every_partition_goes_to_exactly_one_subscriber(
    group: tuple[dict[str, MemberSubscription], dict[str, int]],
) -> None:
    for assignor in ASSIGNORS.values():
        if assignor is not ASSIGNORS["cooperative-sticky"]:
            check_complete(assign(assignor, *group), *group)


def previously(owned: list[TopicPartition], generation: int, topics: list[str]) -> MemberSubscription:
    """A member of a group with the sticky assignor: its last assignment is in the user data."""
    data = encode_previous_assignment(owned, generation)
    return MemberSubscription(topics=topics, generation_id=generation, user_data=data)


@given(st.integers(1, 6), st.integers(1, 40), st.integers(0, 5))
def test_sticky_is_balanced_and_moves_as_little_as_it_must(member_count: int, count: int, leaving: int) -> None:
    names = [f"m{number}" for number in range(member_count + 1)]
    counts = {"a": count}
    first = assign(sticky_assignor, members(**{name: ["a"] for name in names}), counts)
    left = {name: previously(first[name], 1, ["a"]) for name in names if name != names[leaving % len(names)]}
    second = assign(sticky_assignor, left, counts)
    check_complete(second, left, counts)
    sizes = [len(owned) for owned in second.values()]
    assert max(sizes) - min(sizes) <= 1
    for name in left:
        assert set(first[name]) <= set(second[name]), "no member loses a partition when another leaves"


def test_sticky_trusts_the_newest_generation() -> None:
    stale = previously(partitions("a0", "a1"), 1, ["a"])
    newer = previously(partitions("a0"), 2, ["a"])
    assert assign(sticky_assignor, {"stale": stale, "newer": newer}, {"a": 2}) == {
        "stale": partitions("a1"),
        "newer": partitions("a0"),
    }


def test_cooperative_sticky_gives_nothing_away_that_is_still_owned() -> None:
    owner = MemberSubscription(["a"], owned_partitions=partitions("a0", "a1", "a2", "a3"), generation_id=3)
    newcomer = MemberSubscription(["a"], user_data=encode_generation(-1))
    first = assign(cooperative_sticky_assignor, {"owner": owner, "new": newcomer}, {"a": 4})
    assert first == {"owner": partitions("a0", "a1"), "new": []}, "two are revoked before anybody gets them"
    owner = MemberSubscription(["a"], owned_partitions=first["owner"], generation_id=4)
    newcomer = MemberSubscription(["a"], generation_id=4)
    second = assign(cooperative_sticky_assignor, {"owner": owner, "new": newcomer}, {"a": 4})
    assert second == {"owner": partitions("a0", "a1"), "new": partitions("a2", "a3")}


def test_the_sticky_user_data_has_kafkas_layout() -> None:
    # previous_assignment: array of (topic string, array of int32); generation int32; version 0 had no generation.
    data = bytes.fromhex("00000001 0001 61 00000002 00000000 00000003 00000007")
    assert encode_previous_assignment(partitions("a0", "a3"), 7) == data
    assert decode_previous_assignment(data) == (partitions("a0", "a3"), 7)
    assert decode_previous_assignment(data[:-4]) == (partitions("a0", "a3"), None)
    assert decode_previous_assignment(None) == ([], None)
    assert decode_previous_assignment(data[:9]) == ([], -1), "what cannot be read is as if nothing had been owned"
    assert encode_generation(7) == bytes.fromhex("00000007")
