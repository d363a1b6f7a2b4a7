"""Asks the share coordinator about each partition of a request, and answers once.

Owns: the outcomes so far. Never does: deciding. Invariants: there is exactly one answer; the operations on a share
partition are carried out in the order of the request. Source: ``ShareCoordinatorService``.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from odradek.protocol.internal_records.share_partition_key import SharePartitionKey

from ..share_state.operations import DONE, Operation, StateOutcome
from .parts import ShareParts

OPERATIONS_A_STEP = 8

Outcomes = dict[bytes, dict[int, StateOutcome]]
"""The outcome of each partition, by topic id and partition. A topic that is asked about without partitions has none."""


def answer_each(
    broker: ShareParts,
    group_id: str,
    topics: Iterable[Any],
    operation_of: Callable[[Any], Operation],
    now_ms: int,
    answer: Callable[[Outcomes], None],
) -> Iterator[object]:
    """Carries out an operation for each partition in a request's ``topics``. Calls ``answer`` once.

    As in Kafka, a request without a group or without partitions has an empty answer. A partition may be named several
    times, as Kafka's brokers do if several writes wait; an error of one of them is the answer.
    """
    outcomes: Outcomes = {}
    if not group_id:
        answer(outcomes)
        return
    open_count = 1  # the loop below counts too, so that the answer comes after it

    def collect(key: SharePartitionKey, outcome: StateOutcome) -> None:
        of_topic = outcomes[key.topic_id]
        if not of_topic[key.partition].error:
            of_topic[key.partition] = outcome
        close_one()

    def close_one() -> None:
        nonlocal open_count
        open_count -= 1
        if not open_count:
            answer(outcomes)

    number = 0
    for topic in topics:
        for partition in topic.partitions:
            if number and not number % OPERATIONS_A_STEP:
                yield None
            number += 1
            key = SharePartitionKey(group_id, topic.topic_id, partition.partition)
            outcomes.setdefault(key.topic_id, {}).setdefault(key.partition, DONE)
            open_count += 1
            broker.share_coordinator.ask(key, operation_of(partition), now_ms, partial(collect, key))
    close_one()
