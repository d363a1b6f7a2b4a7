"""The answers to requests whose handlers failed equal those of Kafka's own request classes."""

from collections.abc import Iterator
from typing import Any

import pytest

from odradek.broker.dispatch.error_responses import error_response
from odradek.broker.dispatch.served import SERVED, served_versions
from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.apis.table import message
from odradek.protocol.codec import Message, decode, encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse
from odradek.protocol.messages.quorum import UnregisterBrokerResponse, UnregisterControllerResponse
from odradek.protocol.messages.security import (
    AlterUserScramCredentialsResponse,
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
    DescribeUserScramCredentialsRequest,
)
from odradek.protocol.messages.transactions import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from support.data.messages import random_message, seed_of
from support.kafka.java import TABLE_VERSION, java_class, java_or_skip, run_class

TEXT_OF_THE_EXCEPTION = "not for the client"
"""Of the exception that ``ErrorResponses.java`` throws."""
INSTANCES = 12
ACL_ENUMS = (
    *("resource_type", "resource_pattern_type", "operation", "permission_type"),
    *("resource_type_filter", "pattern_type_filter"),
)


def served() -> Iterator[tuple[int, int]]:
    for api_key in sorted(SERVED):
        lowest, highest = served_versions(api_key)
        yield from ((api_key, version) for version in range(lowest, highest + 1))


def random_request(api_key: int, version: int, instance: int) -> Message:
    cls: type[Message] = api(api_key).request_class()
    request = random_message(cls, version, seed_of(cls.NAME, version, instance), unknown_tags=False)
    # Kafka stores these two in hash maps: a duplicate name has one answer.
    if isinstance(request, ProduceRequest):
        for produced in request.topic_data:
            produced.partition_data = list({one.index: one for one in produced.partition_data}.values())
            for partition in produced.partition_data:
                partition.records = b""  # Kafka's class fails on null
    elif isinstance(request, WriteTxnMarkersRequest):
        request.markers = list({marker.producer_id: marker for marker in request.markers}.values())
        for marker in request.markers:
            marker.topics = list({topic.name: topic for topic in marker.topics}.values())
            for topic in marker.topics:
                topic.partition_indexes = list(dict.fromkeys(topic.partition_indexes))
    elif isinstance(request, DescribeUserScramCredentialsRequest):
        request.users = request.users or []  # Kafka's class fails on null
    for acl in acls_of(request):
        for field in ACL_ENUMS:
            if hasattr(acl, field):
                setattr(acl, field, getattr(acl, field) or 1)  # Kafka's classes refuse UNKNOWN
    return request


def acls_of(request: Message) -> list[Any]:
    if isinstance(request, DescribeAclsRequest):
        return [request]
    if isinstance(request, CreateAclsRequest):
        return list(request.creations)
    return list(request.filters) if isinstance(request, DeleteAclsRequest) else []


def test_every_served_version_can_be_answered() -> None:
    for api_key, version in served():
        for instance in range(INSTANCES):
            request: Any = random_request(api_key, version, instance)
            response = error_response(api_key, version, request, ErrorCode.UNKNOWN_SERVER_ERROR)
            if response is None:
                assert api_key == ApiKey.PRODUCE
                assert request.acks == 0
            else:
                encode(response, version)


def in_order(response: Message) -> Message:
    """Sorts answers: Kafka stores two requests by partition in hash maps, and answers in any order, without empty
    topics.
    """
    if isinstance(response, ProduceResponse):
        response.responses = [topic for topic in response.responses if topic.partition_responses]
        response.responses.sort(key=lambda topic: (topic.name, topic.topic_id))
        for produced in response.responses:
            produced.partition_responses.sort(key=lambda partition: partition.index)
    elif isinstance(response, WriteTxnMarkersResponse):
        response.markers.sort(key=lambda marker: marker.producer_id)
        for marker in response.markers:
            marker.topics = [topic for topic in marker.topics if topic.partitions]
            marker.topics.sort(key=lambda topic: topic.name)
            for topic in marker.topics:
                topic.partitions.sort(key=lambda partition: partition.partition_index)
    elif isinstance(response, AlterUserScramCredentialsResponse):
        users = {result.user: result for result in response.results}  # in Kafka a set of names
        response.results = [users[name] for name in sorted(users)]
    elif (
        isinstance(response, UnregisterBrokerResponse | UnregisterControllerResponse)
        and response.error_message == TEXT_OF_THE_EXCEPTION
    ):
        response.error_message = ErrorCode.UNKNOWN_SERVER_ERROR.message  # Kafka shows its client any exception here
    return response


@pytest.mark.java
def test_answers_are_those_of_kafkas_request_classes() -> None:
    java_or_skip(TABLE_VERSION)
    lines, ours = [], []
    for api_key, version in served():
        cls: type[Message] = api(api_key).request_class()
        if version not in message(cls.NAME).layouts[-1].versions:
            continue  # Kafka 4 has dropped it
        for instance in range(INSTANCES):
            request = random_request(api_key, version, instance)
            lines.append(f"{api_key}\t{version}\t{encode(request, version).hex()}\n")
            response = error_response(api_key, version, request, ErrorCode.UNKNOWN_SERVER_ERROR)
            ours.append((api_key, version, request, response))
    program = java_class("ErrorResponses", TABLE_VERSION)
    result = run_class(program, version=TABLE_VERSION, standard_input="".join(lines))
    assert result.returncode == 0, result.stderr[-3000:]
    answers = result.stdout.splitlines()
    assert len(answers) == len(ours)
    for answer, (api_key, version, request, response) in zip(answers, ours, strict=True):
        if response is None:
            assert answer == "none", request
            continue
        assert not answer.startswith(("none", "refused")), f"{answer}: {request}"
        theirs, _ = decode(type(response), version, bytes.fromhex(answer))
        written, _ = decode(type(response), version, encode(response, version))
        assert in_order(written) == in_order(theirs), f"{ApiKey(api_key).name} {version}: {request}"
