"""Groups to assign, generated from a seed, with the changes between one assignment and the next.

Each history starts with a group that owns nothing. Members join, leave, change their subscription, become static.
Topics are created, deleted and extended. Each round starts from the last assignment, so that stickiness is tested,
too.
"""

import base64
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from odradek.broker.groups.consumer.assignors import range as range_assignor
from odradek.broker.groups.consumer.assignors import uniform
from odradek.broker.groups.modern.assignment import (
    GroupAssignment,
    GroupSpec,
    MemberSpec,
    PartitionAssignorError,
    SubscribedTopicDescriber,
)

ASSIGNORS: dict[str, Callable[[GroupSpec, SubscribedTopicDescriber], GroupAssignment]] = {
    "uniform": uniform.assign,
    "range": range_assignor.assign,
}


class Topics(dict[bytes, int]):
    """Partition counts by topic id."""

    def partition_count(self, topic_id: bytes) -> int:
        return self.get(topic_id, -1)


@dataclass
class Question:
    """One assignment to compute."""

    assignor: str
    spec: GroupSpec
    topics: Topics

    def answer(self) -> GroupAssignment | None:
        """Our assignment; None if it is refused."""
        try:
            return ASSIGNORS[self.assignor](self.spec, self.topics)
        except PartitionAssignorError:
            return None

    def line(self) -> str:
        """The line that ``ServerAssignors.java`` reads."""
        members = [
            {
                "id": member_id,
                "instance": member.instance_id,
                "topics": [uuid_text(topic) for topic in sorted(member.subscribed_topic_ids)],
                "assignment": {
                    uuid_text(topic): sorted(member.assignment[topic]) for topic in sorted(member.assignment)
                },
            }
            for member_id, member in self.spec.members.items()
        ]
        topics = {uuid_text(topic): count for topic, count in self.topics.items()}
        question = {"assignor": self.assignor, "homogeneous": self.spec.is_homogeneous}
        return json.dumps(question | {"topics": topics, "members": members})


def uuid_text(topic_id: bytes) -> str:
    """The text of a uuid, as ``Uuid.toString`` writes it."""
    return base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()


def readable(assignment: GroupAssignment | None) -> dict[str, Any]:
    """The assignment as ``ServerAssignors.java`` answers it, without members that own nothing."""
    if assignment is None:
        return {"error": "PartitionAssignorException"}
    return {
        member: {uuid_text(topic): sorted(partitions) for topic, partitions in owned.items()}
        for member, owned in assignment.items()
        if owned
    }


class History:
    """A group and its changes."""

    def __init__(self, seed: int, members: int = 12, topics: int = 9, partitions: int = 40) -> None:
        self._random = random.Random(seed)
        self._max_members = self._random.choice((2, 4, members))
        self._max_partitions = self._random.choice((3, 12, partitions))
        self._assignor = self._random.choice(("uniform", "uniform", "range"))
        self._alike = self._random.random() < 0.5
        self._missing = self._random.random() < 0.05
        self._topics = Topics({self._new_topic(): self._count() for _ in range(self._random.randint(1, topics))})
        self._members: dict[str, MemberSpec] = {}

    def questions(self, rounds: int) -> Iterator[Question]:
        """The rounds in order. Each starts from the assignment of the previous one."""
        for _ in range(rounds):
            for _ in range(self._random.randint(1, 4)):
                self._change()
            question = self._question()
            yield question
            assignment = question.answer()
            if assignment is not None:
                self._members = {
                    member_id: replace(member, assignment=assignment.get(member_id, {}))
                    for member_id, member in self._members.items()
                }

    def _question(self) -> Question:
        existing = frozenset(self._topics)
        if not self._missing:
            self._members = {
                member_id: replace(member, subscribed_topic_ids=member.subscribed_topic_ids & existing)
                for member_id, member in self._members.items()
            }
        subscriptions = {member.subscribed_topic_ids for member in self._members.values()}
        spec = GroupSpec(dict(self._members), len(subscriptions) <= 1)
        return Question(self._assignor, spec, Topics(self._topics))

    def _change(self) -> None:
        match self._random.choice(("join", "join", "leave", "return", "subscribe", "create", "delete", "grow")):
            case "join" if len(self._members) < self._max_members:
                self._join({})
            case "leave" if self._members:
                del self._members[self._random.choice(list(self._members))]
            case "return" if self._members:
                member = self._members.pop(self._random.choice(list(self._members)))
                self._join(dict(member.assignment), member.instance_id)
            case "subscribe" if self._members:
                subscription = self._subscription()
                chosen = list(self._members) if self._alike else [self._random.choice(list(self._members))]
                for member_id in chosen:
                    self._members[member_id] = replace(self._members[member_id], subscribed_topic_ids=subscription)
            case "create" if len(self._topics) < 11:
                self._topics[self._new_topic()] = self._count()
            case "delete" if self._topics:
                del self._topics[self._random.choice(list(self._topics))]
            case "grow" if self._topics:
                self._topics[self._random.choice(list(self._topics))] += self._random.randint(1, 5)

    def _join(self, assignment: dict[bytes, frozenset[int]], instance_id: str | None = None) -> None:
        if instance_id is None and self._random.random() < 0.3:
            instance_id = f"instance-{self._random.randrange(10**6)}"
        member_id = uuid_text(self._random.randbytes(16))
        subscription = self._subscription()
        if self._alike and self._members:
            subscription = next(iter(self._members.values())).subscribed_topic_ids
        self._members[member_id] = MemberSpec(subscription, instance_id, None, assignment)

    def _subscription(self) -> frozenset[bytes]:
        topics = sorted(self._topics)
        return frozenset(self._random.sample(topics, self._random.randint(min(1, len(topics)), len(topics))))

    def _new_topic(self) -> bytes:
        return self._random.randbytes(16)

    def _count(self) -> int:
        return self._random.randint(1, self._max_partitions)
