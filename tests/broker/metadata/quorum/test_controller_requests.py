"""Forwarded requests and those for producer ids reach the active controller, also if controllers change or refuse."""

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from odradek.broker.metadata.publisher.controller_link import Requester
from odradek.broker.metadata.quorum.alter_partition import AlterPartitionManager
from odradek.broker.metadata.quorum.channel import ControllerChannel
from odradek.broker.metadata.quorum.forwarding import GIVE_UP_S, MAX_WAITING, MAX_WAITING_BYTES, Forwarding
from odradek.broker.metadata.quorum.known_controllers import NO_LEADER, Address, KnownControllers
from odradek.broker.metadata.quorum.producer_ids import ProducerIdBlocks
from odradek.broker.network.node_client import NodeUnavailableError
from odradek.broker.server.cluster_member import TO_CONTROLLERS
from odradek.broker.timers.work import Pauses
from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.codec.header import encode_request
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.quorum import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    EnvelopeRequest,
    EnvelopeResponse,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import CreateTopicsRequest, CreateTopicsResponse
from odradek.protocol.security.acl import ANONYMOUS
from support.brokers.fake_node import SERVED, Answer, FakeNode, enveloped
from support.eventually import eventually_in_loop

BLOCK = 20


def knowing(*nodes: FakeNode) -> KnownControllers:
    """Controllers 1, 2, ... of which 1 is active."""
    known = KnownControllers([], {1 + place: Address(node.host, node.port) for place, node in enumerate(nodes)})
    known.take_leader(1, 1)
    return known


def frame(number: int) -> bytes:
    return encode_request(CreateTopicsRequest(), 7, number, "client")[4:]


def echoed(request: Message) -> EnvelopeResponse:
    return EnvelopeResponse(enveloped(request).to_bytes(4, "big"))


@contextmanager
def running(part: Forwarding | ProducerIdBlocks) -> Iterator[None]:
    task = asyncio.ensure_future(part.run())
    try:
        yield
    finally:
        task.cancel()


async def forwarded(forwarding: Forwarding, number: int, host: str = "127.0.0.1") -> bytes | KafkaError:
    answer: asyncio.Future[bytes | KafkaError] = asyncio.get_running_loop().create_future()
    forwarding.forward(frame(number), Requester(ANONYMOUS, host), answer.set_result)
    return await answer


def code_of(answer: bytes | KafkaError) -> ErrorCode:
    assert isinstance(answer, KafkaError)
    return answer.error_code


class BrokenOnce(ControllerChannel):
    """Raises what no request may raise, at the first one."""

    is_broken = True

    async def send(self, *arguments: Any) -> Any:
        if self.is_broken:
            self.is_broken = False
            raise KeyError("a bug")
        return await super().send(*arguments)


async def test_a_bug_with_one_forwarded_request_is_answered_and_ends_no_other() -> None:
    async with FakeNode(echoed) as node:
        forwarding = Forwarding(BrokenOnce(knowing(node), "test"))
        task = TO_CONTROLLERS.keep_running(forwarding.run, Pauses(0.001))
        first, second = await asyncio.gather(forwarded(forwarding, 1), forwarded(forwarding, 2))
        assert code_of(first) == ErrorCode.UNKNOWN_SERVER_ERROR
        assert second == (2).to_bytes(4, "big")
        task.cancel()


async def test_a_change_of_the_isr_is_sent_again_after_a_bug() -> None:
    changed = AlterPartitionResponse.PartitionData(3, leader_epoch=9)
    response = AlterPartitionResponse(topics=[AlterPartitionResponse.TopicData(b"t" * 16, [changed])])
    key = ApiKey.ALTER_PARTITION
    async with FakeNode(lambda _: response, {**SERVED, key: api(key).request_class().VERSIONS}) as node:
        manager = AlterPartitionManager(1, lambda: 5, BrokenOnce(knowing(node), "test"))
        task = TO_CONTROLLERS.keep_running(manager.run, Pauses(0.001))
        answer: asyncio.Future[AlterPartitionResponse.PartitionData | ErrorCode]
        answer = asyncio.get_running_loop().create_future()
        manager.submit(b"t" * 16, AlterPartitionRequest.PartitionData(3), answer.set_result)
        assert await answer == changed
        task.cancel()


async def test_controller_that_is_not_active_is_left_until_a_leader_is_named_again() -> None:
    async with FakeNode(lambda _: AllocateProducerIdsResponse(error_code=ErrorCode.NOT_CONTROLLER)) as node:
        known = knowing(node)
        channel = ControllerChannel(known, "test")
        request = AllocateProducerIdsRequest(7, 1)
        with pytest.raises(NodeUnavailableError, match="is not the active controller"):
            await channel.send(request, AllocateProducerIdsResponse, 60)
        assert known.leader_id == NO_LEADER
        with pytest.raises(NodeUnavailableError, match="no active controller is known"):
            await channel.send(request, AllocateProducerIdsResponse, 60)
        assert known.take_leader(1, 1), "a controller that names it again makes it known"
        assert known.active == Address("127.0.0.1", node.port)
        channel.close()


async def test_requests_are_forwarded_in_their_order_and_each_is_answered() -> None:
    async with FakeNode(echoed) as node:
        forwarding = Forwarding(ControllerChannel(knowing(node), "test"))
        with running(forwarding):
            answers = await asyncio.gather(*(forwarded(forwarding, number) for number in range(20)))
        assert answers == [number.to_bytes(4, "big") for number in range(20)]
        assert [enveloped(request) for request in node.received] == list(range(20))


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("192.0.2.7", b"\xc0\x00\x02\x07"),
        ("::1", bytes(15) + b"\x01"),
        ("fe80::1%eth0", b"\xfe\x80" + bytes(13) + b"\x01"),
    ],
)
async def test_envelope_names_the_clients_address(host: str, address: bytes) -> None:
    async with FakeNode(echoed) as node:
        forwarding = Forwarding(ControllerChannel(knowing(node), "test"))
        with running(forwarding):
            await forwarded(forwarding, 1, host)
        (request,) = node.received
        assert isinstance(request, EnvelopeRequest)
        assert request.client_host_address == address
        assert bytes(request.request_data) == frame(1)


@pytest.mark.parametrize(
    ("requester", "principal"),
    [
        (Requester(ANONYMOUS, "::1"), b"\x00\x00\x05User\x0aANONYMOUS\x00\x00"),
        (Requester("User:a:b", "::1", "client", by_token=True), b"\x00\x00\x05User\x04a:b\x01\x00"),
        (
            Requester("User:CN=" + "\u00e4" * 100, "::1"),
            b"\x00\x00\x05User\xcc\x01CN=" + b"\xc3\xa4" * 100 + b"\x00\x00",
        ),
    ],
    ids=["anonymous", "by token", "long name"],
)
async def test_envelope_names_the_clients_principal(requester: Requester, principal: bytes) -> None:
    """As DefaultKafkaPrincipalBuilder writes it: a two-byte version, compact strings, and whether a token was used."""
    async with FakeNode(echoed) as node:
        forwarding = Forwarding(ControllerChannel(knowing(node), "test"))
        with running(forwarding):
            answered = asyncio.get_running_loop().create_future()
            forwarding.forward(frame(1), requester, answered.set_result)
            await answered
        (request,) = node.received
        assert isinstance(request, EnvelopeRequest)
        assert request.request_principal == principal


async def test_internal_topics_are_created_with_the_rights_of_this_broker() -> None:
    """The request goes to the controllers without an Envelope, and is repeated if it reached an inactive one."""
    codes = iter([ErrorCode.NOT_CONTROLLER, ErrorCode.NONE])

    def answer(_: Message) -> CreateTopicsResponse:
        return CreateTopicsResponse(topics=[CreateTopicsResponse.CreatableTopicResult("t", error_code=next(codes))])

    async with FakeNode(answer, {**SERVED, ApiKey.CREATE_TOPICS: (2, 7)}) as node:
        forwarding = Forwarding(ControllerChannel(knowing(node), "test"))
        answered: asyncio.Future[CreateTopicsResponse | KafkaError] = asyncio.get_running_loop().create_future()
        with running(forwarding):
            forwarding.create_topics(CreateTopicsRequest(), answered.set_result)
            created = await answered
        assert isinstance(created, CreateTopicsResponse)
        assert [topic.error_code for topic in created.topics] == [ErrorCode.NONE]
        assert [type(request) for request in node.received] == [CreateTopicsRequest, CreateTopicsRequest]


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.UNSUPPORTED_VERSION),
        (ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
async def test_refused_envelope_is_an_error_for_its_client_alone(refused: ErrorCode, told: ErrorCode) -> None:
    def answer(request: Message) -> Answer:
        return echoed(request) if enveloped(request) else EnvelopeResponse(error_code=refused)

    async with FakeNode(answer) as node:
        forwarding = Forwarding(ControllerChannel(knowing(node), "test"))
        with running(forwarding):
            first, second = await asyncio.gather(forwarded(forwarding, 0), forwarded(forwarding, 1))
        assert code_of(first) is told
        assert second == b"\x00\x00\x00\x01"


async def test_client_that_floods_the_queue_delays_another_by_one_request_and_is_refused_itself() -> None:
    """``flood`` sends more requests than may wait. ``other`` comes last and is served second."""
    refused: list[int] = []
    served: list[int] = []
    done = asyncio.Event()

    def answered(number: int) -> Callable[[bytes | KafkaError], None]:
        def take(answer: bytes | KafkaError) -> None:
            if isinstance(answer, KafkaError):
                assert answer.error_code is ErrorCode.REQUEST_TIMED_OUT
                refused.append(number)
            else:
                served.append(number)
            if len(refused) + len(served) == flood + 1:
                done.set()

        return take

    flood, other = MAX_WAITING + 50, 10_000
    async with FakeNode(echoed) as node:
        forwarding = Forwarding(ControllerChannel(knowing(node), "test"))
        for number in range(flood):
            forwarding.forward(frame(number), Requester(ANONYMOUS, "192.0.2.1"), answered(number))
        assert refused == list(range(MAX_WAITING, flood)), "the newest ones, at once"
        forwarding.forward(frame(other), Requester(ANONYMOUS, "192.0.2.2"), answered(other))
        assert refused[-1] == MAX_WAITING - 1
        with running(forwarding):
            await done.wait()
    assert served == [0, other, *range(1, MAX_WAITING - 1)]


async def test_requests_that_wait_are_bounded_in_bytes() -> None:
    refused: list[KafkaError] = []

    def answered(answer: bytes | KafkaError) -> None:
        assert isinstance(answer, KafkaError)
        refused.append(answer)

    forwarding = Forwarding(ControllerChannel(KnownControllers([], {}), "test"))
    large = bytes(MAX_WAITING_BYTES // 4)
    for _ in range(4):
        forwarding.forward(large, Requester(ANONYMOUS, "192.0.2.1"), answered)
    assert refused == []
    forwarding.forward(frame(1), Requester(ANONYMOUS, "192.0.2.2"), answered)
    assert [error.error_code for error in refused] == [ErrorCode.REQUEST_TIMED_OUT]


async def test_request_that_no_controller_answers_is_given_up_and_the_next_one_is_served() -> None:
    now_s = 100.0

    def answer(request: Message) -> Answer:
        nonlocal now_s
        if enveloped(request):
            return echoed(request)
        now_s += GIVE_UP_S / 2
        asyncio.get_running_loop().call_later(0.01, known.take_leader, 1, 1)  # as the observer of the metadata log does
        return b""  # the connection closes

    async with FakeNode(answer) as node:
        known = knowing(node)
        forwarding = Forwarding(ControllerChannel(known, "test"), lambda: now_s)
        with running(forwarding):
            assert code_of(await forwarded(forwarding, 0)) is ErrorCode.REQUEST_TIMED_OUT
            assert await forwarded(forwarding, 1) == b"\x00\x00\x00\x01"
        assert [enveloped(request) for request in node.received] == [0, 0, 1], "it was tried again for 60 s"


@pytest.mark.parametrize("answer", [EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER), b""], ids=["moved", "died"])
async def test_request_goes_to_the_next_controller_if_the_active_one_changes(answer: Answer) -> None:
    def changes(request: Message) -> Answer:
        known.take_leader(2, 2)
        return answer

    async with FakeNode(changes) as old, FakeNode(echoed) as new:
        known = knowing(old, new)
        forwarding = Forwarding(ControllerChannel(known, "test"))
        with running(forwarding):
            answers = await asyncio.gather(*(forwarded(forwarding, number) for number in range(3)))
        assert answers == [number.to_bytes(4, "big") for number in range(3)]
        assert len(old.received) == 1
        assert known.active == Address(new.host, new.port)


async def test_versions_are_those_that_both_serve() -> None:
    lowest, highest = api(ApiKey.CREATE_TOPICS).stable_versions
    for theirs, both in (
        ((0, highest - 1), (lowest, highest - 1)),
        ((highest, 99), (highest, highest)),
        ((90, 99), None),
    ):
        async with FakeNode(echoed, {**SERVED, ApiKey.CREATE_TOPICS: theirs}) as node:
            forwarding = Forwarding(ControllerChannel(knowing(node), "test"))
            with running(forwarding):
                await forwarding.knows_versions.wait()
                assert forwarding.versions().get(ApiKey.CREATE_TOPICS) == both
                assert ApiKey.DELETE_TOPICS not in forwarding.versions(), "the controller does not serve it"


def blocks(chance: random.Random | None = None) -> Callable[[Message], Answer]:
    """A controller that allocates producer ids. With ``chance``, half of the answers are lost or errors."""
    start = 0

    def answer(_: Message) -> Answer:
        nonlocal start
        fault = chance.choice(("", "", "", "lost", "stale", "busy")) if chance is not None else ""
        if fault in ("stale", "busy"):
            code = ErrorCode.STALE_BROKER_EPOCH if fault == "stale" else ErrorCode.REQUEST_TIMED_OUT
            return AllocateProducerIdsResponse(error_code=code)
        start += BLOCK
        return b"" if fault == "lost" else AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=BLOCK)

    return answer


async def first_id(ids: ProducerIdBlocks) -> int:
    def one() -> int | None:
        try:
            return ids.next_id(0)
        except KafkaError as error:
            if error.error_code is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                raise
            return None

    found = await eventually_in_loop("an id", one)
    assert found is not None
    return found


async def test_next_block_is_there_before_the_last_id_is_used() -> None:
    async with FakeNode(blocks()) as node:
        ids = ProducerIdBlocks(7, lambda: 3, ControllerChannel(knowing(node), "test"))
        with running(ids):
            given = [await first_id(ids)]
            given += [ids.next_id(0) for _ in range(17)]
            assert len(node.received) == 1
            given.append(ids.next_id(0))  # nine tenths were used before it
            await eventually_in_loop("the next block is asked for", lambda: len(node.received) == 2)
            await eventually_in_loop("it is there", lambda: ids._next is not None)
            given += [ids.next_id(0) for _ in range(2)]
        assert given == list(range(BLOCK, 2 * BLOCK + 1))
        (request, _) = node.received
        assert request == AllocateProducerIdsRequest(7, 3)


@pytest.mark.parametrize("seed", range(3))
async def test_no_id_is_given_twice_over_errors_and_lost_answers(seed: int) -> None:
    answer = blocks(random.Random(seed))

    def and_is_named_again(request: Message) -> Answer:
        asyncio.get_running_loop().call_later(0.01, known.take_leader, 1, 1)  # as the observer of the metadata log does
        return answer(request)

    async with FakeNode(and_is_named_again) as node:
        known = knowing(node)
        ids = ProducerIdBlocks(7, lambda: 3, ControllerChannel(known, "test"))
        given: list[int] = []
        with running(ids):
            while len(given) < 5 * BLOCK:
                given.append(await first_id(ids))
        assert len(set(given)) == len(given)
        assert all(one >= BLOCK for one in given)
