"""A guarded handler gets the allowed part of a request, and the client gets one answer for the whole request."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.dispatch.request import ConnectionRefusal, Denial, RequestContext
from odradek.broker.metadata.image.image import MetadataImage
from odradek.broker.security.authorization.guard import Guard
from odradek.broker.security.authorization.request_authorizer import DECISIONS_A_STEP
from odradek.broker.security.authorization.standard_authorizer import StandardAuthorizer
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import HeartbeatRequest
from odradek.protocol.messages.offsets import ListOffsetsRequest, ListOffsetsResponse
from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse
from odradek.protocol.messages.structure import ZERO_UUID
from odradek.protocol.security.acl import Acl, AclOperation, AclPermission, AclResourceType, PatternType

NOW_MS = 1_795_000_000_000


class Answered:
    """The reply function of a request, which collects the answers."""

    def __init__(self) -> None:
        self.responses: list[Any] = []
        self.refusals: list[str] = []

    def __call__(self, response: Any) -> None:
        self.responses.append(response)

    def refuse(self, reason: str) -> None:
        self.refusals.append(reason)

    def run_steps(self, request: object, steps: Iterator[object]) -> None:
        for _ in steps:
            pass


def guard() -> Guard:
    authorizer = StandardAuthorizer()
    acls = {
        bytes([number]) * 16: Acl(
            AclResourceType.TOPIC, "mine-", PatternType.PREFIXED, "User:ANONYMOUS", "*", operation, AclPermission.ALLOW
        )
        for number, operation in enumerate((AclOperation.WRITE, AclOperation.READ))
    }
    authorizer.update(acls, acls)
    return Guard(authorizer, SimpleNamespace(image=MetadataImage()), creates_topics=False)  # type: ignore[arg-type]


BROKER = SimpleNamespace()


def context(api_key: ApiKey, version: int, in_slices: bool = False) -> RequestContext:
    return RequestContext(api_key, version, "client", "127.0.0.1", "PLAINTEXT", 1, NOW_MS, in_slices=in_slices)


def produce(acks: int, *topics: str) -> ProduceRequest:
    data = [
        ProduceRequest.TopicProduceData(name, ZERO_UUID, [ProduceRequest.PartitionProduceData(0, b"")])
        for name in topics
    ]
    return ProduceRequest(None, acks, 1_000, data)


def appended(_broker: Any, request: ProduceRequest, _context: RequestContext, reply: Any) -> None:
    """A handler that appends everything that it gets."""
    partition = ProduceResponse.PartitionProduceResponse(0, ErrorCode.NONE, 5)
    topics = [ProduceResponse.TopicProduceResponse(one.name, ZERO_UUID, [partition]) for one in request.topic_data]
    reply(ProduceResponse(topics) if request.acks else None)


def test_the_denied_part_is_answered_beside_the_served_one() -> None:
    """A Produce to an allowed and a denied topic appends to the first, and answers the error of the second."""
    reply = Answered()
    guard()(ApiKey.PRODUCE, appended)(BROKER, produce(1, "theirs", "mine-1"), context(ApiKey.PRODUCE, 12), reply)
    [response] = reply.responses
    assert {one.name: one.partition_responses[0].error_code for one in response.responses} == {
        "mine-1": ErrorCode.NONE,
        "theirs": ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }


def test_without_acks_a_denial_closes_the_connection() -> None:
    """A Produce with acks=0 has no answer, so a denial closes its connection, after the allowed part is appended."""
    reply = Answered()
    handle = guard()(ApiKey.PRODUCE, appended)
    handle(BROKER, produce(0, "theirs", "mine-1"), context(ApiKey.PRODUCE, 12), reply)
    assert not reply.responses
    assert len(reply.refusals) == 1
    with pytest.raises(ConnectionRefusal):
        handle(BROKER, produce(0, "theirs"), context(ApiKey.PRODUCE, 12), Answered())


def test_a_request_that_is_denied_as_a_whole_never_reaches_its_handler() -> None:
    """A Heartbeat for a group that may not be read raises the error of its answer."""

    def handle(*_: Any) -> None:
        raise AssertionError("it was served")

    with pytest.raises(Denial) as denied:
        guard()(ApiKey.HEARTBEAT, handle)(
            BROKER, HeartbeatRequest("g", 1, "m"), context(ApiKey.HEARTBEAT, 4), Answered()
        )
    assert denied.value.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_a_large_request_is_checked_in_slices() -> None:
    """The decisions on thousands of topics are divided into steps, and the handler's own steps follow."""
    served: list[int] = []

    def handle(_broker: Any, request: ListOffsetsRequest, _context: RequestContext, reply: Any) -> Iterator[object]:
        for _ in range(3):
            yield None
        served.append(len(request.topics))
        reply(ListOffsetsResponse())

    topics = [ListOffsetsRequest.ListOffsetsTopic(f"theirs-{number}", []) for number in range(5_000)]
    topics += [ListOffsetsRequest.ListOffsetsTopic("mine-1", [])]
    acls = guard()
    request, asked = ListOffsetsRequest(-1, 0, topics), context(ApiKey.LIST_OFFSETS, 10, in_slices=True)
    reply = Answered()
    steps = acls(ApiKey.LIST_OFFSETS, handle)(BROKER, request, asked, reply)
    assert steps is not None
    assert sum(1 for _ in steps) >= 5_000 // DECISIONS_A_STEP
    assert served == [1]
    assert len(reply.responses[0].topics) == 5_000
