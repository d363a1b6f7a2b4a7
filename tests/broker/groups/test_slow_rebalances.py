"""A long rebalance is logged, with the members that it waits for, and since when."""

import logging
from typing import Any

import pytest

from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.slow_rebalances import SLOW_AFTER_MS, RebalanceWatch
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.messages import groups as messages
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from support.groups.harness import Harness

REBALANCE_TIMEOUT_MS = 300_000
SESSION_TIMEOUT_MS = 45_000


class Watched:
    """A coordinator, and the log lines of the watch."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        config = GroupCoordinatorConfig(offsets_topic_num_partitions=1, group_initial_rebalance_delay_ms=0)
        self.harness = Harness(config)
        self._watch = RebalanceWatch()
        self._caplog = caplog

    def after(self, delay_ms: int) -> list[str]:
        """Advances the time and returns the log lines written then."""
        self.harness.timers.advance(delay_ms)
        self._caplog.clear()
        run_to_end(self._watch.log_changes(self.harness.coordinator.cores(), self.harness.timers.now_ms))
        return [record.getMessage() for record in self._caplog.records if record.name.endswith("slow_rebalances")]

    def join(self, client: str, member_id: str = "") -> str:
        """Sends a JoinGroup of an old version, which needs no member id; returns the member id if it is answered."""
        protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol("range", b"")
        request = messages.JoinGroupRequest(
            "orders", SESSION_TIMEOUT_MS, REBALANCE_TIMEOUT_MS, member_id, None, "consumer", [protocol]
        )
        answered: list[Any] = []
        self.harness.send(client, ApiKey.JOIN_GROUP, 3, request, answered.append)
        self.harness.timers.advance(0)  # the delay of a first rebalance
        return str(answered[0].member_id) if answered else ""

    def heartbeat(self, client: str, member_id: str, epoch: int, owned: list[int] | None) -> Any:
        """Sends a heartbeat of the consumer protocol; returns the answer."""
        partitions = None
        if owned is not None:
            partitions = [ConsumerGroupHeartbeatRequest.TopicPartitions(b"t" * 16, owned)] if owned else []
        request = ConsumerGroupHeartbeatRequest(
            "stock",
            member_id,
            epoch,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if epoch == 0 else -1,
            subscribed_topic_names=["t"] if epoch == 0 else None,
            topic_partitions=partitions,
        )
        return self.harness.ask(client, ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)


@pytest.fixture
def watched(caplog: pytest.LogCaptureFixture) -> Watched:
    caplog.set_level(logging.INFO)
    return Watched(caplog)


def test_members_of_a_classic_group_that_have_not_joined_again(watched: Watched) -> None:
    first = watched.join("one")
    said = watched.after(SLOW_AFTER_MS)
    assert said == [
        f"group 'orders' has been in CompletingRebalance for 10.0 s and waits for its leader {first!r} (client.id "
        "'one' at 127.0.0.1) to send the assignment; after the rebalance timeout of 300 s it continues without them"
    ]
    watched.join("two")
    assert watched.after(SLOW_AFTER_MS - 1) == ["group 'orders' no longer waits, after 20.0 s"]
    said = watched.after(1)
    assert said == [
        f"group 'orders' has been in PreparingRebalance for 10.0 s and waits for {first!r} (client.id 'one' at "
        "127.0.0.1) to join again; after the rebalance timeout of 300 s it continues without them"
    ]
    assert watched.after(5_000) == [], "the line is written once"
    assert watched.join("one", first) == first
    assert watched.after(5_000) == ["group 'orders' no longer waits, after 20.0 s"]


def test_members_of_a_consumer_group_that_have_not_given_partitions_up(watched: Watched) -> None:
    first_epoch = watched.heartbeat("one", "m1", 0, []).member_epoch
    assert watched.heartbeat("one", "m1", first_epoch, [0, 1, 2, 3]).error_code == 0
    watched.after(1_000)  # group.consumer.assignment.interval.ms
    epoch = watched.heartbeat("two", "m2", 0, []).member_epoch
    told = watched.heartbeat("one", "m1", first_epoch, None)
    owned_after = told.assignment.topic_partitions[0].partitions
    assert len(owned_after) == 2, "it is to give two up"
    [said] = watched.after(SLOW_AFTER_MS)
    assert said == (
        "group 'stock' has been in Reconciling for 10.0 s and waits for 'm1' (client.id 'one' at 127.0.0.1) to confirm "
        f"epoch {epoch}; after the rebalance timeout of 300 s it continues without them"
    )
    watched.heartbeat("one", "m1", first_epoch, owned_after)
    assert watched.after(0) == ["group 'stock' no longer waits, after 10.0 s"]
    assert watched.after(3 * SLOW_AFTER_MS) == []
