"""Large heartbeats of streams groups: what is refused, and what runs in steps."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from odradek.broker.dispatch.request import RequestContext
from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.streams import heartbeat as decisions
from odradek.broker.groups.streams.request_limits import MOST_CLIENT_TAGS, MOST_CONFIGS, MOST_PARTS, MOST_TASKS
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest as Request
from support.groups.harness import Harness, Replying

TOPIC = "t"
Change = Callable[[Request, int], None]


def harness(partitions: int = 1) -> Harness:
    config = GroupCoordinatorConfig(offsets_topic_num_partitions=1, group_streams_initial_rebalance_delay_ms=0)
    return Harness(config, {TOPIC: (b"t" * 16, partitions)})


def join(*subtopologies: Request.Subtopology, member: str = "m") -> Request:
    topology = Request.Topology(0, list(subtopologies) or [Request.Subtopology("0", [TOPIC])])
    request = Request("g", member, 0, topology=topology, rebalance_timeout_ms=1_000, process_id="p")
    request.active_tasks, request.standby_tasks, request.warmup_tasks = [], [], []
    return request


def subtopologies(request: Request, count: int) -> None:
    assert request.topology is not None
    request.topology.subtopologies = [Request.Subtopology(str(number), [TOPIC]) for number in range(count // 2)]
    request.topology.subtopologies[0].source_topics *= 1 + count % 2


def indexes(request: Request, count: int) -> None:
    assert request.topology is not None
    request.topology.subtopologies[0].copartition_groups = [Request.CopartitionGroup([0] * (count - 3), [], [])]


def changelogs(request: Request, count: int) -> None:
    assert request.topology is not None
    topics = [Request.TopicInfo(f"c{number}") for number in range(count - 2)]
    request.topology.subtopologies[0].state_changelog_topics = topics


def configs(request: Request, count: int) -> None:
    assert request.topology is not None
    pairs = [Request.KeyValue(f"k{number}", "v") for number in range(count)]
    request.topology.subtopologies[0].state_changelog_topics = [Request.TopicInfo("c", topic_configs=pairs)]


def tags(request: Request, count: int) -> None:
    request.client_tags = [Request.KeyValue(f"k{number}", "v") for number in range(count)]


def offsets(request: Request, count: int) -> None:
    request.task_end_offsets = [Request.TaskOffset("0", number, 1) for number in range(count)]


@pytest.mark.parametrize(
    ("change", "most"),
    [
        (subtopologies, MOST_PARTS),
        (indexes, MOST_PARTS),
        (changelogs, MOST_PARTS),
        (configs, MOST_CONFIGS),
        (tags, MOST_CLIENT_TAGS),
        (offsets, MOST_TASKS),
    ],
)
def test_a_request_may_have_as_much_as_the_limits_say(change: Change, most: int) -> None:
    for count, error in ((most, ErrorCode.NONE), (most + 1, ErrorCode.INVALID_REQUEST)):
        request = join()
        change(request, count)
        answer = harness().ask("c", ApiKey.STREAMS_GROUP_HEARTBEAT, 1, request)
        assert answer.error_code == error, (count, answer)


def test_a_request_names_no_more_tasks_than_there_may_be() -> None:
    coordinator = harness(MOST_TASKS)
    epoch = coordinator.ask("c", ApiKey.STREAMS_GROUP_HEARTBEAT, 1, join()).member_epoch
    for partitions, error in ((MOST_TASKS - 1, ErrorCode.NONE), (MOST_TASKS, ErrorCode.INVALID_REQUEST)):
        request = Request("g", "m", epoch, standby_tasks=[], warmup_tasks=[])
        request.active_tasks = [Request.TaskIds("0", list(range(partitions)))]
        answer = coordinator.ask("c", ApiKey.STREAMS_GROUP_HEARTBEAT, 1, request)
        assert answer.error_code == error, answer


@pytest.mark.parametrize("partitions", [MOST_TASKS, MOST_TASKS + 1])
def test_a_topology_has_no_more_tasks_than_there_may_be(partitions: int) -> None:
    answer = harness(partitions).ask("c", ApiKey.STREAMS_GROUP_HEARTBEAT, 1, join())
    assert answer.error_code == (ErrorCode.INVALID_REQUEST if partitions > MOST_TASKS else ErrorCode.NONE)


def test_the_last_of_many_names_that_comes_twice_is_found() -> None:
    request = join()
    request.client_tags = [Request.KeyValue(f"k{number}", "v") for number in range(MOST_CLIENT_TAGS - 1)]
    request.client_tags.append(request.client_tags[-1])
    answer = harness().ask("c", ApiKey.STREAMS_GROUP_HEARTBEAT, 1, request)
    assert answer.error_message == f"Client tag k{MOST_CLIENT_TAGS - 2} is there twice."


def serve_in_steps(world: Harness, request: Request, between: Callable[[], None]) -> Any:
    """Serves a request, and calls ``between`` after each step. Returns the answer."""
    context = RequestContext(ApiKey.STREAMS_GROUP_HEARTBEAT, 1, "c", "127.0.0.1", "PLAINTEXT", 0, world.timers.now_ms)
    answers: list[Any] = []
    handle = import_module("odradek.broker.api.streams_group_heartbeat").handle
    for _ in handle(world.broker, request, context, Replying(answers.append)):
        between()
    [answer] = answers
    return answer


def test_the_topics_of_a_topology_are_looked_at_before_the_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    world, steps = harness(), 0

    def count() -> None:
        nonlocal steps
        steps += 1

    def refuse(*_: object) -> None:
        raise AssertionError("the decision looks at the topics")

    monkeypatch.setattr(decisions, "configure", refuse)
    request = join()
    subtopologies(request, MOST_PARTS)
    answer = serve_in_steps(world, request, count)
    assert answer.error_code == ErrorCode.NONE
    assert steps > 20
    assert len(answer.active_tasks) == MOST_PARTS // 2


def test_topics_that_change_between_two_steps_are_looked_at_again() -> None:
    world = harness()
    counts = iter(range(2, 100))
    answer = serve_in_steps(world, join(), lambda: world.put_topic(TOPIC, next(counts)))
    assert answer.error_code == ErrorCode.NONE
    now = len(world.image.topics_by_name[TOPIC].partitions)
    assert now > 2
    assert [len(each.partitions) for each in answer.active_tasks] == [now]


def test_a_member_whose_join_fails_leaves_no_offsets() -> None:
    world = harness()
    world.ask("c", ApiKey.STREAMS_GROUP_HEARTBEAT, 1, join())
    group = world.core.groups.streams["g"]
    held = group.member_bytes
    request = join(member="other")
    request.task_offsets = [Request.TaskOffset("0", 0, 5)]
    world.log.fail_next = ErrorCode.KAFKA_STORAGE_ERROR
    assert world.ask("c", ApiKey.STREAMS_GROUP_HEARTBEAT, 1, request).error_code
    assert not group.task_offsets
    assert group.member_bytes == held


def test_a_computation_whose_members_have_all_left_is_dropped() -> None:
    world = harness()
    world.core.groups.inline_size = 0
    world.ask("c", ApiKey.STREAMS_GROUP_HEARTBEAT, 1, join())
    world.ask("c", ApiKey.STREAMS_GROUP_HEARTBEAT, 1, Request("g", "m", -1))
    world.timers.advance(1)
    assert not world.core.groups.streaming
    assert world.core.groups.streams["g"].state == "Empty"
