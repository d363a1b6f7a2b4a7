"""Requests to coordinators with a scripted broker: their batches, retries, and final failures."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from odradek.client.admin.coordinators import KEYS_IN_A_REQUEST
from odradek.client.admin.groups import GroupAdmin
from odradek.client.errors import AdminError
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import decode_request_header, encode_response_parts
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from odradek.protocol.messages.metadata import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    MetadataResponse,
)
from odradek.protocol.messages.structure import Message

BATCHES_SINCE = 4
Result = DeleteGroupsResponse.DeletableGroupResult


class ScriptedBroker:
    """The only broker of a cluster. ``errors``: group -> the errors that it returns before it deletes the group.

    The group id "" stands for FindCoordinator and for ListGroups themselves.
    """

    def __init__(self, errors: dict[str, list[ErrorCode]], *, batches: bool = True) -> None:
        self.port = 0
        self.asked: Counter[str] = Counter()
        self.deleted: list[str] = []
        self._errors = errors
        self._versions: dict[type[Message], int] = {
            ApiVersionsRequest: 4,
            MetadataRequest: 12,
            FindCoordinatorRequest: BATCHES_SINCE if batches else BATCHES_SINCE - 1,
            DeleteGroupsRequest: 2,
            ListGroupsRequest: 4,
        }

    def answer(self, api_key: int, version: int, body: memoryview) -> Message:
        """The response to a request."""
        request_type = next(kind for kind in self._versions if api_key == kind.API_KEY)
        self.asked[request_type.__name__.removesuffix("Request")] += 1
        if request_type is ApiVersionsRequest:
            known = [ApiVersionsResponse.ApiVersion(kind.API_KEY, 0, v) for kind, v in self._versions.items()]
            return ApiVersionsResponse(api_keys=known)
        if request_type is MetadataRequest:
            return MetadataResponse(brokers=[MetadataResponse.MetadataResponseBroker(7, "127.0.0.1", self.port)])
        if request_type is ListGroupsRequest:
            error = self._error("")
            return ListGroupsResponse(error_code=error, groups=[] if error else [ListGroupsResponse.ListedGroup("g")])
        if request_type is FindCoordinatorRequest:
            return self._coordinators(decode(FindCoordinatorRequest, version, body)[0])
        request = decode(DeleteGroupsRequest, version, body)[0]
        assert len(request.groups_names) <= KEYS_IN_A_REQUEST
        results = [Result(group, self._error(group)) for group in request.groups_names]
        self.deleted += [result.group_id for result in results if not result.error_code]
        return DeleteGroupsResponse(results=results)

    def _coordinators(self, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        error = self._error("")
        node, host, port = (-1, "", -1) if error else (7, "127.0.0.1", self.port)
        if request.coordinator_keys:
            assert len(request.coordinator_keys) <= KEYS_IN_A_REQUEST
            one = FindCoordinatorResponse.Coordinator
            found = [one(key, node, host, port, error) for key in request.coordinator_keys]
            return FindCoordinatorResponse(coordinators=found)
        return FindCoordinatorResponse(error_code=error, node_id=node, host=host, port=port)

    def _error(self, group: str) -> ErrorCode:
        errors = self._errors.get(group)
        return errors.pop(0) if errors else ErrorCode.NONE


@asynccontextmanager
async def admin_of(broker: ScriptedBroker, timeout_ms: float = 60_000) -> AsyncIterator[GroupAdmin]:
    """An admin client of the broker."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                data = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
                header, position = decode_request_header(data)
                answer = broker.answer(header.request_api_key, header.request_api_version, memoryview(data)[position:])
                for part in encode_response_parts(answer, header.request_api_version, header.correlation_id):
                    writer.write(part)
        except asyncio.IncompleteReadError:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    broker.port = server.sockets[0].getsockname()[1]
    try:
        servers = f"127.0.0.1:{broker.port}"
        async with GroupAdmin(servers, default_api_timeout_ms=timeout_ms, retry_backoff_ms=1) as admin:
            yield admin
    finally:
        server.close()


async def test_many_groups_are_asked_about_in_batches() -> None:
    broker = ScriptedBroker({})
    groups = [f"g{number}" for number in range(2 * KEYS_IN_A_REQUEST + 1)]
    async with admin_of(broker) as admin:
        assert list(await admin.delete_groups(groups)) == groups
    assert sorted(broker.deleted) == sorted(groups)
    assert (broker.asked["FindCoordinator"], broker.asked["DeleteGroups"]) == (3, 3)


async def test_a_broker_that_finds_one_coordinator_at_a_time() -> None:
    broker = ScriptedBroker({}, batches=False)
    async with admin_of(broker) as admin:
        await admin.delete_groups(["a", "b"])
    assert (broker.asked["FindCoordinator"], broker.asked["DeleteGroups"]) == (2, 1)


async def test_only_what_may_go_away_is_asked_again() -> None:
    loading, moved = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR
    broker = ScriptedBroker({"a": [loading, moved], "b": [ErrorCode.NON_EMPTY_GROUP]})
    async with admin_of(broker) as admin:
        with pytest.raises(AdminError) as failed:
            await admin.delete_groups(["a", "b", "c"])
    assert {group: error.error_code for group, error in failed.value.errors.items()} == {"b": ErrorCode.NON_EMPTY_GROUP}
    assert list(failed.value.results) == ["a", "c"]
    assert broker.deleted == ["c", "a"]
    assert broker.asked["DeleteGroups"] == 3
    assert broker.asked["FindCoordinator"] == 2, "after NOT_COORDINATOR it is looked for again, while loading it is not"


async def test_a_coordinator_that_is_not_there_yet() -> None:
    broker = ScriptedBroker({"": [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2})
    async with admin_of(broker) as admin:
        await admin.delete_groups(["a"])
        assert broker.asked["FindCoordinator"] == 3
        broker._errors[""] = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
        assert [group.group_id for group in await admin.list_groups()] == ["g"]
        assert broker.asked["ListGroups"] == 2


async def test_the_time_is_over() -> None:
    """An AdminError at the end of the time limit has the results so far."""
    broker = ScriptedBroker({"a": [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 10_000})
    async with admin_of(broker, timeout_ms=50) as admin:
        with pytest.raises(AdminError) as failed:
            await admin.delete_groups(["a", "b"])
    assert failed.value.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert list(failed.value.results) == ["b"]
