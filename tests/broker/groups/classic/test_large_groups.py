"""A rebalance of a large classic group answers its members in several turns of the event loop."""

from typing import Any

from odradek.broker.api import join_group
from odradek.broker.coordinator.shard import REPLIES_A_TURN
from odradek.broker.dispatch.request import RequestContext
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import JoinGroupRequest, JoinGroupResponse, SyncGroupRequest
from support.groups.harness import Harness

MEMBERS = 5 * REPLIES_A_TURN


def _join(harness: Harness, client: str) -> None:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", b"")
    request = JoinGroupRequest("g", 60_000, 60_000, protocol_type="consumer", protocols=[protocol])
    harness.send(client, ApiKey.JOIN_GROUP, 3, request)


def _sync(harness: Harness, joined: dict[str, Any], client: str) -> None:
    answer = joined[client]
    assignments = [
        SyncGroupRequest.SyncGroupRequestAssignment(member.member_id, member.member_id.encode())
        for member in answer.members
    ]
    request = SyncGroupRequest("g", answer.generation_id, answer.member_id, None, None, None, assignments)
    harness.send(client, ApiKey.SYNC_GROUP, 3, request)


def _answers_of_turns(harness: Harness) -> list[int]:
    """Fires timers until every member has an answer; returns the number of answers of each turn."""
    counts = [len(harness.answers)]
    while len(harness.answers) < MEMBERS:
        before = len(harness.answers)
        harness.timers.fire_next()
        counts.append(len(harness.answers) - before)
    return counts


def test_members_of_a_large_group_are_answered_in_several_turns() -> None:
    harness = Harness()
    for number in range(MEMBERS):
        _join(harness, f"client-{number}")
    assert max(_answers_of_turns(harness)) == REPLIES_A_TURN, "the end of the joining phase"
    joined = dict(harness.answers)
    assert len(joined) == MEMBERS
    [leader] = [client for client, answer in joined.items() if answer.leader == answer.member_id]
    assert len(joined[leader].members) == MEMBERS
    harness.answers.clear()
    for client in joined:
        if client != leader:
            _sync(harness, joined, client)
    assert not harness.answers
    _sync(harness, joined, leader)
    assert max(_answers_of_turns(harness)) == REPLIES_A_TURN, "the leader's assignment is stored"
    for client, answer in harness.answers:
        assert (answer.error_code, bytes(answer.assignment)) == (ErrorCode.NONE, joined[client].member_id.encode())


def test_an_unloaded_partition_answers_all_members_at_once() -> None:
    harness = Harness()
    for number in range(MEMBERS):
        _join(harness, f"client-{number}")
    harness.coordinator.resign(0)
    assert [answer.error_code for _, answer in harness.answers] == [ErrorCode.NOT_COORDINATOR] * MEMBERS


def test_the_answer_to_the_leader_of_a_large_group_is_encoded_in_slices() -> None:
    harness = Harness()
    served: dict[bool, list[JoinGroupResponse]] = {False: [], True: []}
    for number in range(join_group.FEW_MEMBERS + 1):
        context = RequestContext(ApiKey.JOIN_GROUP, 3, f"client-{number}", "127.0.0.1", "PLAINTEXT", number, 1_000_000)
        protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", b"")
        request = JoinGroupRequest("g", 60_000, 60_000, protocol_type="consumer", protocols=[protocol])

        def reply(response: JoinGroupResponse, context: RequestContext = context) -> None:
            served[context.in_slices].append(response)

        for _ in join_group.handle(harness.broker, request, context, reply) or ():
            pass
    harness.timers.advance(10_000)
    [leaders] = served[True]
    assert leaders.leader == leaders.member_id
    assert len(served[False]) == join_group.FEW_MEMBERS
