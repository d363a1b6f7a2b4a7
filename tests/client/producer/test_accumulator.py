"""The producer's queues: when batches are sent, their order, their sequence numbers, and failures."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.client.producer.accumulator import MAX_PRODUCER_EPOCH, Accumulator
from odradek.client.producer.batches import (
    BATCH_OVERHEAD_BYTES,
    ProducerBatch,
    QueuedRecord,
    QueuedValues,
    SharedDelivery,
    record_size,
    values_size,
    values_that_fit,
)
from odradek.client.producer.delivery import Delivery
from odradek.client.types import TopicPartition
from odradek.protocol.records.values import decode_values, encode_values

P0 = TopicPartition("t", 0)
P1 = TopicPartition("t", 1)


def accumulator(**changes: Any) -> Accumulator:
    delivery = Delivery(
        acks=-1,
        retries=10,
        max_in_flight=changes.pop("max_in_flight", 5),
        timeout_ms=changes.pop("timeout_ms", 1000),
        is_idempotent=True,
    )
    settings: dict[str, Any] = {"batch_size": 1000, "linger_ms": 5, "buffer_memory": 10_000}
    made = Accumulator(delivery, **(settings | changes))
    if made.needs_producer_id:
        made.set_producer_id(7, 0)
    return made


def add(to: Accumulator, name: str, partition: TopicPartition = P0, *, now_ms: float = 0, size: int = 100) -> bool:
    return to.append(partition, QueuedRecord((0, None, name.encode(), []), name), size, now_ms)


def queued(values: list[bytes], delivery: SharedDelivery) -> QueuedValues:
    return QueuedValues(0, values, len(values), *values_size(values), delivery)


def take(from_: Accumulator, partition: TopicPartition = P0, *, now_ms: float = 1000) -> ProducerBatch:
    batch = from_.take(partition, now_ms, flushing=True)
    assert batch is not None
    return batch


def established(**changes: Any) -> Accumulator:
    """Queues after the broker has acknowledged the first record, sequence number 0, of partition 0."""
    queue = accumulator(**changes)
    add(queue, "first")
    queue.complete(take(queue))
    return queue


def test_nothing_follows_the_first_batch_of_an_epoch_until_it_is_acknowledged() -> None:
    # A broker without state of the producer would accept the second one first.
    queue = accumulator()
    add(queue, "a")
    first = take(queue)
    add(queue, "b")
    assert queue.ready_in_ms(P0, 1000, flushing=True) is None
    queue.retry(first, 0)
    again = take(queue)
    assert (again.futures, again.base_sequence) == (["a"], 0)
    queue.complete(again)
    assert take(queue).futures == ["b"]


def test_a_batch_lingers_unless_it_is_full_or_flushed() -> None:
    queue = accumulator()
    assert add(queue, "a", now_ms=100)
    assert not add(queue, "b", now_ms=103)
    assert queue.ready_in_ms(P0, 103, flushing=False) == 2
    assert queue.take(P0, 103, flushing=False) is None
    assert queue.ready_in_ms(P0, 103, flushing=True) == 0
    assert queue.ready_in_ms(P0, 105, flushing=False) == 0
    assert add(queue, "c", now_ms=103, size=790)
    assert queue.ready_in_ms(P0, 103, flushing=False) == 0, "more than one batch: the first does not wait"
    assert take(queue).futures == ["a", "b"]


def test_partitions_do_not_wait_for_each_other() -> None:
    queue = accumulator()
    add(queue, "a", P0)
    add(queue, "b", P1)
    queue.retry(take(queue, P0), not_before_ms=5000)
    assert queue.ready_in_ms(P0, 1000, flushing=True) == 4000
    assert take(queue, P1).futures == ["b"]


def test_sequence_numbers_continue_and_belong_to_the_partition() -> None:
    queue = established()
    for name in "abc":
        add(queue, name)
    first = take(queue)
    add(queue, "d")
    add(queue, "e", P1)
    second, other = take(queue), take(queue, P1)
    assert (first.base_sequence, second.base_sequence, other.base_sequence) == (1, 4, 0)
    assert {(b.producer_id, b.producer_epoch) for b in (first, second, other)} == {(7, 0)}


def test_after_a_failure_nothing_overtakes() -> None:
    queue = established()
    batches = []
    for name in "abc":
        add(queue, name)
        batches.append(take(queue))
    add(queue, "d")
    queue.retry(batches[0], 0)
    assert queue.take(P0, 1000, flushing=True) is None, "b and c are still in flight"
    queue.retry(batches[2], 0)
    queue.complete(batches[1])
    again = [take(queue) for _ in range(3)]
    assert [batch.futures for batch in again] == [["a"], ["c"], ["d"]]
    assert [batch.base_sequence for batch in again] == [1, 3, 4], "retries keep their sequence numbers"


def test_only_so_many_batches_of_a_partition_are_in_flight() -> None:
    queue = established(max_in_flight=2)
    for name in "ab":
        add(queue, name)
        take(queue)
    add(queue, "c")
    assert queue.ready_in_ms(P0, 1000, flushing=True) is None


def test_a_lost_batch_starts_a_new_epoch_when_nothing_is_in_flight() -> None:
    queue = established()
    batches = []
    for name in "ab":
        add(queue, name)
        batches.append(take(queue))
    add(queue, "c")
    queue.fail(batches[0])
    assert queue.take(P0, 1000, flushing=True) is None
    queue.retry(batches[1], 0)
    again = [take(queue)]
    queue.complete(again[0])
    again.append(take(queue))
    assert [(b.producer_epoch, b.base_sequence, b.futures) for b in again] == [(1, 0, ["b"]), (1, 1, ["c"])]
    add(queue, "d", P1)
    assert take(queue, P1).producer_epoch == 0, "the other partitions lost nothing"


@given(st.floats(0, 1e9), st.sampled_from((700.0, 1_000.0, 30_000.0, 120_000.0)))
def test_a_batch_has_expired_at_its_expiry(now_ms: float, timeout_ms: float) -> None:
    queue = accumulator(timeout_ms=timeout_ms)
    add(queue, "a", now_ms=now_ms)
    expiry_ms = queue.next_expiry_ms()
    assert expiry_ms is not None
    assert len(queue.expired(expiry_ms)) == 1, "otherwise the sender waits for no time, again and again"


def test_a_batch_that_never_went_out_costs_no_epoch() -> None:
    queue = accumulator()
    add(queue, "a", now_ms=0)
    expired = queue.expired(2000)
    assert [batch.futures for batch in expired] == [["a"]]
    queue.fail(expired[0])
    add(queue, "b", now_ms=2000)
    assert take(queue, now_ms=3000).producer_epoch == 0
    assert queue.buffered_bytes == 100


def test_used_up_epochs_ask_for_a_new_producer_id() -> None:
    queue = accumulator()
    queue.set_producer_id(7, MAX_PRODUCER_EPOCH)
    add(queue, "a")
    queue.retry(take(queue), 0, lost_sequence=True)
    assert queue.take(P0, 1000, flushing=True) is None
    assert queue.needs_producer_id
    queue.set_producer_id(8, 0)
    batch = take(queue)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (8, 0, 0)


def test_a_batch_that_is_too_large_goes_again_as_halves_with_its_sequence_numbers() -> None:
    queue = established()
    for name in "abcde":
        add(queue, name)
    whole = take(queue)
    add(queue, "f")
    queue.split(whole)
    first, second = take(queue), take(queue)
    assert (first.futures, first.base_sequence) == (["a", "b"], 1)
    assert (second.futures, second.base_sequence) == (["c", "d", "e"], 3)
    queue.split(second)
    assert queue.take(P0, 1000, flushing=True) is None
    queue.complete(first)
    assert [take(queue).futures for _ in range(3)] == [["c"], ["d", "e"], ["f"]]


def test_values_share_a_batch_with_records_and_are_split_between_its_halves() -> None:
    queue = established()
    delivery = SharedDelivery("shared")
    contents = [b"1", b"2" * 100, b"3", b"4", b"5"]
    values = queued(contents, delivery)
    add(queue, "a")
    queue.append(P0, values, values.size, 0)
    add(queue, "b")
    whole = take(queue)
    assert (whole.count, whole.futures, whole.base_sequence) == (7, ["a", "shared", "b"], 1)
    queue.split(whole)
    assert delivery.parts == 2
    first, second = take(queue), take(queue)
    assert (first.count, first.futures, first.base_sequence) == (3, ["a", "shared"], 1)
    assert (second.count, second.futures, second.base_sequence) == (4, ["shared", "b"], 4)
    parts = [part for batch in (first, second) for part in batch.parts if isinstance(part, QueuedValues)]
    assert [value for part in parts for value in decode_values(part.encoded)] == contents
    assert [part.values for part in parts] == [(), ()], "their memory is free once they are encoded"
    queue.complete(first)
    queue.complete(second)
    assert queue.buffered_bytes == 0, "the halves' bounds differ from that of the whole"


def test_values_that_do_not_fit_an_open_batch_begin_another() -> None:
    queue = established()
    for _ in range(2):
        values = queued([b"v" * 100] * 5, SharedDelivery(None))
        queue.append(P0, values, values.size, 0)
    assert take(queue).count == take(queue).count == 5


@pytest.mark.parametrize("size", [0, 1, 50, 54, 55, 60, 100, 8_180, 8_190, 20_000, 1_100_000])
@pytest.mark.parametrize("count", [1, 70, 9_000])
def test_the_bound_of_values_holds_and_is_close(size: int, count: int) -> None:
    count = min(count, 10_000_000 // (size + 1))
    values = [b"v" * size] * count
    exact = len(encode_values([b""], 0, 0, 0)) + len(encode_values(values, 1, 1_000_000, size))
    bound, value_size = values_size(values)
    assert value_size == size
    assert exact <= bound + values_size([b""])[0]
    assert bound <= exact + 8 * count
    batch_size = BATCH_OVERHEAD_BYTES + bound
    assert values_that_fit(batch_size, size) == count
    assert values_that_fit(batch_size - 1, size) == max(1, count - 1)


def test_room_is_spare_if_a_share_of_the_memory_is_free() -> None:
    queue = accumulator(buffer_memory=1600)
    add(queue, "a", size=800)
    add(queue, "b", size=700)
    assert queue.has_spare_room
    add(queue, "c", size=1)
    assert queue.has_room(99)
    assert not queue.has_spare_room


def test_memory_is_bounded_and_comes_free() -> None:
    queue = accumulator(buffer_memory=250)
    add(queue, "a")
    add(queue, "b")
    assert not queue.has_room(100)
    assert queue.has_room(50)
    batch = take(queue)
    assert not queue.has_room(100), "in flight still counts"
    queue.complete(batch)
    assert queue.has_room(10_000), "a single record always fits an empty buffer"


@pytest.mark.parametrize("value", [None, b"", b"x" * 50])
def test_record_size_counts_key_value_and_headers(value: bytes | None) -> None:
    assert record_size(b"key", value, [("h", None), ("longer", b"1234")]) >= 3 + len(value or b"") + 7 + 4


@settings(max_examples=300)
@given(st.lists(st.sampled_from(["add", "send", "ack", "retry", "out-of-order", "lose"]), max_size=60), st.randoms())
def test_no_reordering_and_no_sequence_number_twice(steps: list[str], chance: Any) -> None:
    """A broker that accepts any first sequence number and then only the next one gets each record once, in order."""
    queue = accumulator(batch_size=250)
    flying: list[ProducerBatch] = []
    written: list[int] = []
    expected: dict[int, int] = {}
    added = 0
    for step in steps:
        if step == "add":
            add(queue, str(added))
            added += 1
        elif step == "send":
            batch = queue.take(P0, 10_000, flushing=True) if queue.partitions_with_waiting() else None
            if batch is not None:
                flying.append(batch)
        elif flying:
            # Answers come in the order of the requests. The broker's reaction is decided at that moment.
            batch = flying.pop(0)
            if step == "lose":
                queue.fail(batch)
            elif step == "retry" or batch.base_sequence != expected.get(batch.producer_epoch, batch.base_sequence):
                queue.retry(batch, 0)
            else:
                expected[batch.producer_epoch] = batch.base_sequence + batch.count
                written += [int(name) for name in batch.futures]
                queue.complete(batch)
    assert written == sorted(set(written))
    while flying:
        queue.fail(flying.pop())
    while queue.partitions_with_waiting():
        queue.complete(take(queue, now_ms=20_000 + chance.random()))
    assert queue.buffered_bytes == 0
