"""Fills a real Kafka with share groups and streams groups, so that every type of their records is stored.

Share groups: `sharing` has a member and records in all delivery states, `deserted` had a member. Streams groups:
`counting` has two members, one of them static, `waiting` reads a topic that does not exist, `stopped` had a member.
"""

import time
from typing import Any

from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest
from parity.share_members import ShareMembers
from parity.sharers import Sharers
from parity.side import BASE_TIME_MS, DEADLINE_S, Side, batch

KEYS = {
    "group.share.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
}
"""Configs of the broker with which nothing has to wait."""
TOPIC, WORDS, MISSING = "shared", "words", "no-such-topic"
RECORDS = 40
RECORD_LIMIT = 1
ACCEPT, RELEASE, REJECT = 1, 2, 3
Heartbeat = StreamsGroupHeartbeatRequest


def fill(side: Side) -> None:
    """Makes topics, records and all groups."""
    side.topic(TOPIC, 2)
    side.topic(WORDS, 2)
    side.learn_ids()
    share(side)
    counting = StreamsMembers(side, "counting")
    counting.until_given("a", WORDS)
    counting.join("b", WORDS, instance_id="static")
    counting.heartbeat("a")
    StreamsMembers(side, "waiting").join("a", MISSING)
    stopped = StreamsMembers(side, "stopped")
    stopped.join("a", WORDS)
    stopped.leave("a")


def share(side: Side) -> None:
    """The share groups.

    Of the records of partition 0, `sharing` has accepted 0 to 3, released 4 and 5, rejected 6 and 7, and accepted 8. It
    holds 9 to 11, and knows nothing of the others.
    """
    group = Sharers(side, "sharing", TOPIC, 2)
    group.configure(share_auto_offset_reset="earliest")
    side.produce(TOPIC, batch(*range(RECORDS)))
    group.join("a")
    offsets: list[int] = []
    deadline = time.monotonic() + DEADLINE_S
    while len(offsets) < 12:
        body = group.fetch(
            "a", max_wait_ms=500, min_bytes=1, max_records=12 - len(offsets), share_acquire_mode=RECORD_LIMIT
        )
        for first, last, _ in [got for one in body["partitions"].values() for got in one["acquired"]]:
            offsets += range(first, last + 1)
        assert time.monotonic() < deadline, body
    assert offsets == list(range(12))
    acks: Any = [(0, 3, [ACCEPT]), (4, 5, [RELEASE]), (6, 7, [REJECT]), (8, 8, [ACCEPT])]
    assert [one["error"] for one in group.acknowledge("a", {0: acks})["partitions"].values()] == [0]
    deserted = ShareMembers(side, "deserted")
    deserted.join("x", TOPIC)
    deserted.until_initialized({TOPIC: 2})
    deserted.leave("x")


class StreamsMembers:
    """The members of a streams group. Each is a process of its own."""

    def __init__(self, side: Side, name: str) -> None:
        self.side = side
        self.name = side.group(name)
        self.epochs: dict[str, int] = {}

    def heartbeat(self, who: str, epoch: int | None = None, **fields: Any) -> Any:
        """Sends a heartbeat, with the epoch of the last answer by default."""
        request = Heartbeat(self.name, who, self.epochs.get(who, 0) if epoch is None else epoch)
        for name, value in fields.items():
            setattr(request, name, value)
        body = self.side.ask(request, 1)
        assert not body["errorCode"], body
        self.epochs[who] = body["memberEpoch"]
        return body

    def join(self, who: str, source: str, **fields: Any) -> Any:
        """Joins with a topology of two parts: the words are sorted by a repartition topic, and counted."""
        topic = Heartbeat.TopicInfo
        sorted_words = topic(f"{self.name}-sorted-repartition", 0, 1)
        counts = topic(f"{self.name}-counts-changelog", 0, 1, [Heartbeat.KeyValue("cleanup.policy", "compact")])
        first = Heartbeat.Subtopology("0", [source])
        first.repartition_sink_topics = [sorted_words.name]
        second = Heartbeat.Subtopology("1")
        second.repartition_source_topics, second.state_changelog_topics = [sorted_words], [counts]
        return self.heartbeat(
            who,
            0,
            **{
                "rebalance_timeout_ms": 60_000,
                "process_id": f"process-{who}",
                "client_tags": [Heartbeat.KeyValue("zone", "z1")],
                "topology": Heartbeat.Topology(0, [first, second]),
                "active_tasks": [],
                "standby_tasks": [],
                "warmup_tasks": [],
                **fields,
            },
        )

    def until_given(self, who: str, source: str) -> None:
        """Joins, and waits until the member has active tasks: then the internal topics are there."""
        deadline = time.monotonic() + DEADLINE_S
        body = self.join(who, source)
        while not body["activeTasks"]:
            assert time.monotonic() < deadline, body
            body = self.heartbeat(who)
        owned = [Heartbeat.TaskIds(one["subtopologyId"], one["partitions"]) for one in body["activeTasks"]]
        self.heartbeat(who, active_tasks=owned, standby_tasks=[], warmup_tasks=[])

    def leave(self, who: str) -> None:
        self.heartbeat(who, -1)


LAST_TIME_MS = BASE_TIME_MS + RECORDS - 1
"""The time of the last record of the topic."""
