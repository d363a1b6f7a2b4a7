"""Sends requests about many groups or transactional ids, each to the broker that coordinates it.

A key is a group id or a transactional id. Owns: finding the coordinator of each key, and the retries. Never does:
builds the requests, or remembers a coordinator after the call. Invariant: each key ends with exactly one answer or one
error. Source: ``clients.admin.internals.AdminApiDriver`` and ``CoordinatorStrategy``.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.groups import FindCoordinatorRequest, FindCoordinatorResponse

from ..cluster.cluster import Cluster
from ..cluster.connection import BrokerConnection
from ..cluster.coordinator import COORDINATOR_MOVED, SEVERAL_KEYS_SINCE
from ..errors import BrokerConnectionError, broker_error
from .base import all_or_raise

Value = TypeVar("Value")
Answers = Mapping[str, Value | KafkaError]
GROUP_KEY = 0
TRANSACTION_KEY = 1
KEY_KINDS = {GROUP_KEY: "group", TRANSACTION_KEY: "transactional id"}
KEYS_IN_A_REQUEST = 200
"""The maximum number of keys in one request. It bounds the answer: a described group of 1,000 members is 200 KB."""


async def ask_coordinators(
    cluster: Cluster,
    key_type: int,
    keys: Iterable[str],
    ask: Callable[[BrokerConnection, Sequence[str]], Awaitable[Answers[Value]]],
    *,
    timeout_ms: float,
) -> dict[str, Value]:
    """Asks the coordinator of each key and returns the answers in the order of ``keys``.

    ``ask`` sends one request about several keys to their coordinator. Keys with a retriable error are asked again
    until ``timeout_ms`` is over. Raises AdminError with the errors by key, BrokerConnectionError, RequestTimedOutError.
    """
    unique_keys = list(dict.fromkeys(keys))
    deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
    coordinators: dict[str, int] = {}
    answers: dict[str, Value | KafkaError] = {}
    attempts = 0
    while True:
        waiting = [key for key in unique_keys if key not in answers]
        failures = await _ask_once(cluster, key_type, waiting, ask, coordinators, answers)
        if not failures:
            break
        try:
            await cluster.back_off(next(iter(failures.values())), attempts, deadline)
        except KafkaError:
            # The time is over: unanswered keys get an error, the other keys keep their answers.
            answers |= {key: error for key, error in failures.items() if isinstance(error, KafkaError)}
            lost = [error for error in failures.values() if not isinstance(error, KafkaError)]
            if lost:
                raise lost[0] from None
            break
        attempts += 1
    errors = {key: answer for key in unique_keys if isinstance(answer := answers[key], KafkaError)}
    results = {key: answer for key in unique_keys if not isinstance(answer := answers[key], KafkaError)}
    return all_or_raise(errors, results)


async def ask_all_brokers(
    cluster: Cluster, ask: Callable[[BrokerConnection], Awaitable[Value]], *, timeout_ms: float
) -> dict[int, Value]:
    """Asks every broker about the groups or transactions that it coordinates; returns the answers by node id.

    If ``ask`` raises a retriable KafkaError (a coordinator that is loading), that broker is asked again until
    ``timeout_ms`` is over. Raises KafkaError, BrokerConnectionError, RequestTimedOutError.
    """
    await cluster.refresh([])
    deadline = asyncio.get_running_loop().time() + timeout_ms / 1000

    async def ask_one(node_id: int) -> Value:
        attempts = 0
        while True:
            try:
                return await ask(await cluster.connection(node_id))
            except KafkaError as error:
                if not error.error_code.retriable:
                    raise
                await cluster.back_off(error, attempts, deadline)
            attempts += 1

    nodes = sorted(cluster.metadata.brokers)
    return dict(zip(nodes, await asyncio.gather(*map(ask_one, nodes)), strict=True))


async def _ask_once(
    cluster: Cluster,
    key_type: int,
    keys: Sequence[str],
    ask: Callable[[BrokerConnection, Sequence[str]], Awaitable[Answers[Value]]],
    coordinators: dict[str, int],
    answers: dict[str, Value | KafkaError],
) -> dict[str, KafkaError | BrokerConnectionError]:
    """Makes one attempt: adds final answers to ``answers`` and returns the retriable errors by key."""
    failures: dict[str, KafkaError | BrokerConnectionError] = {}
    unknown = [key for key in keys if key not in coordinators]
    for key, found in (await _find_coordinators(cluster, key_type, unknown)).items():
        if not isinstance(found, KafkaError):
            coordinators[key] = found
        elif found.error_code.retriable:
            failures[key] = found
        else:
            answers[key] = found
    by_node: dict[int, list[str]] = defaultdict(list)
    for key in keys:
        if key in coordinators:
            by_node[coordinators[key]].append(key)

    async def ask_node(node_id: int, asked: Sequence[str]) -> None:
        try:
            got = await ask(await cluster.connection(node_id), asked)
        except BrokerConnectionError as error:
            failures.update(dict.fromkeys(asked, error))
            for key in asked:
                del coordinators[key]
            return
        for key in asked:
            answer = got[key]
            if isinstance(answer, KafkaError) and answer.error_code.retriable:
                failures[key] = answer
                if answer.error_code in COORDINATOR_MOVED:
                    del coordinators[key]
            else:
                answers[key] = answer

    await asyncio.gather(*(ask_node(node, part) for node, asked in by_node.items() for part in _parts(asked)))
    return failures


def _parts(keys: Sequence[str]) -> list[Sequence[str]]:
    return [keys[start : start + KEYS_IN_A_REQUEST] for start in range(0, len(keys), KEYS_IN_A_REQUEST)]


async def _find_coordinators(cluster: Cluster, key_type: int, keys: Sequence[str]) -> dict[str, int | KafkaError]:
    """The node id of each key's coordinator, or its error.

    Asks for many keys in one request, or for one if the broker's version takes one only (before KIP-699).
    """
    if not keys:
        return {}
    connection = await cluster.any_connection()
    several = connection.version_for(FindCoordinatorRequest) >= SEVERAL_KEYS_SINCE
    found: dict[str, int | KafkaError] = {}
    for part in _parts(keys) if several else [[key] for key in keys]:
        request = FindCoordinatorRequest(key_type=key_type)
        if several:
            request.coordinator_keys = list(part)
        else:
            request.key = part[0]
        response = await connection.call(request, FindCoordinatorResponse)
        if several:
            for answer in response.coordinators:
                found[answer.key] = _coordinator_of(cluster, key_type, answer.key, answer)
        else:
            found[part[0]] = _coordinator_of(cluster, key_type, part[0], response)
    missing = broker_error(ErrorCode.COORDINATOR_NOT_AVAILABLE, "FindCoordinator left a key out")
    return {key: found.get(key, missing) for key in keys}


def _coordinator_of(
    cluster: Cluster, key_type: int, key: str, answer: FindCoordinatorResponse | FindCoordinatorResponse.Coordinator
) -> int | KafkaError:
    if answer.error_code:
        return broker_error(
            answer.error_code, f"coordinator of {KEY_KINDS[key_type]} '{key}'", answer.error_message or None
        )
    cluster.learn_broker(answer.node_id, answer.host, answer.port)
    return answer.node_id
