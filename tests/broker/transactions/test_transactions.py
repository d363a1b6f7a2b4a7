"""The transaction coordinator, request by request: the answers in each state, and the records in the logs."""

import pytest

from odradek.broker.coordinator.shard import ShardState
from odradek.broker.transactions.records import decode_record
from odradek.broker.transactions.transaction import LAST_USABLE_EPOCH, MAX_EPOCH
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages import transactions
from odradek.protocol.names.topics import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.protocol.names.transaction_states import TransactionState
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.record import iterate_records
from support.transactions.harness import TransactionHarness

from .client import TIMEOUT_MS, TransactionClient, markers


@pytest.fixture
def harness() -> TransactionHarness:
    return TransactionHarness()


def test_a_commit_shows_what_was_written_and_an_abort_hides_it(harness: TransactionHarness) -> None:
    client = TransactionClient(harness)
    assert client.init() == (ErrorCode.NONE, client.producer_id, 0)
    for commit, value in ((True, b"kept"), (False, b"dropped")):
        assert client.add(0, 1) == [ErrorCode.NONE, ErrorCode.NONE]
        assert client.state() is TransactionState.ONGOING
        client.write(0, value, sequence=0 if commit else 1)
        assert client.end(commit=commit) is ErrorCode.NONE
    assert client.state() is TransactionState.COMPLETE_ABORT
    assert harness.partitions["t", 0].committed_values() == [b"kept"]
    assert markers(harness, "t", 1) == [(client.producer_id, 0)] * 2
    assert markers(harness, "t", 2) == []


def test_each_start_of_a_producer_fences_the_one_before(harness: TransactionHarness) -> None:
    old, new = TransactionClient(harness), TransactionClient(harness)
    old.init()
    new.init()
    assert (new.producer_id, new.producer_epoch) == (old.producer_id, 1)
    assert old.add(0) == [ErrorCode.PRODUCER_FENCED]
    assert old.add(0, api_version=1) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert old.end(commit=True) is ErrorCode.PRODUCER_FENCED
    assert old.end(commit=True, api_version=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert old.add_offsets() is ErrorCode.PRODUCER_FENCED


def test_an_open_transaction_is_aborted_before_the_next_producer_starts(harness: TransactionHarness) -> None:
    old, new = TransactionClient(harness), TransactionClient(harness)
    old.init()
    old.add(0)
    old.write(0, b"lost")
    assert new.init() == (ErrorCode.CONCURRENT_TRANSACTIONS, -1, -1)
    assert new.init()[0] is ErrorCode.NONE
    # The abort has an epoch that no client has.
    assert markers(harness, "t", 0) == [(old.producer_id, 1)]
    assert new.producer_epoch == 2
    assert harness.partitions["t", 0].committed_values() == []


def test_a_client_of_version_2_gets_an_epoch_for_each_transaction(harness: TransactionHarness) -> None:
    client = TransactionClient(harness, version=2)
    client.init()
    for epoch in (1, 2, 3):
        client.add(0)
        client.write(0, b"x")
        assert client.end(commit=True) is ErrorCode.NONE
        assert client.producer_epoch == epoch
    assert markers(harness, "t", 0) == [(client.producer_id, epoch) for epoch in (1, 2, 3)]


@pytest.mark.parametrize(
    ("before", "commit", "repeated", "expected"),
    [
        (None, False, False, ErrorCode.NONE),
        (None, True, False, ErrorCode.INVALID_TXN_STATE),
        (None, False, True, ErrorCode.PRODUCER_FENCED),
        (False, False, True, ErrorCode.NONE),
        (False, False, False, ErrorCode.NONE),
        (False, True, True, ErrorCode.INVALID_TXN_STATE),
        (False, True, False, ErrorCode.INVALID_TXN_STATE),
        (True, False, True, ErrorCode.INVALID_TXN_STATE),
        (True, False, False, ErrorCode.NONE),
        (True, True, True, ErrorCode.NONE),
        (True, True, False, ErrorCode.INVALID_TXN_STATE),
    ],
)
def test_what_version_2_makes_of_an_end_without_a_transaction(
    harness: TransactionHarness, before: bool | None, commit: bool, repeated: bool, expected: ErrorCode
) -> None:
    client = TransactionClient(harness, version=2)
    client.init()
    if before is not None:
        client.add(0)
        client.end(commit=before)
    epoch = client.producer_epoch
    client.producer_epoch -= repeated
    assert client.end(commit=commit) is expected
    if expected is ErrorCode.NONE:
        assert client.producer_epoch == (epoch if repeated else epoch + 1)


@pytest.mark.parametrize(
    ("before", "commit", "refused"), [(True, False, True), (False, True, True), (True, True, False)]
)
def test_what_the_old_version_makes_of_a_second_end(
    harness: TransactionHarness, before: bool, commit: bool, refused: bool
) -> None:
    client = TransactionClient(harness)
    client.init()
    assert client.end(commit=commit) is ErrorCode.INVALID_TXN_STATE
    client.add(0)
    client.end(commit=before)
    assert client.end(commit=commit) is (ErrorCode.INVALID_TXN_STATE if refused else ErrorCode.NONE)


def test_a_producer_id_whose_epochs_are_used_up_is_replaced(harness: TransactionHarness) -> None:
    client = TransactionClient(harness, version=2)
    client.init()
    first = client.producer_id
    transaction = harness.core.transactions["tx"]
    harness.core.transactions["tx"] = type(transaction)(
        *(
            LAST_USABLE_EPOCH if name == "producer_epoch" else getattr(transaction, name)
            for name in transaction.__slots__
        )
    )
    client.producer_epoch = LAST_USABLE_EPOCH
    client.add(0)
    client.write(0, b"x")
    assert client.end(commit=True) is ErrorCode.NONE
    assert client.producer_id != first
    assert client.producer_epoch == 0
    assert markers(harness, "t", 0) == [(first, MAX_EPOCH)]
    again = TransactionClient(harness, version=2)
    again.producer_id, again.producer_epoch = first, LAST_USABLE_EPOCH
    assert again.end(commit=True) is ErrorCode.NONE
    assert (again.producer_id, again.producer_epoch) == (client.producer_id, 0)


def test_a_client_that_missed_the_answer_gets_its_epoch_again(harness: TransactionHarness) -> None:
    client = TransactionClient(harness)
    client.init()
    assert client.init(anew=False) == (ErrorCode.NONE, client.producer_id, 1)
    client.producer_epoch = 0
    assert client.init(anew=False) == (ErrorCode.NONE, client.producer_id, 1)
    TransactionClient(harness).init()
    assert client.init(anew=False)[0] is ErrorCode.PRODUCER_FENCED
    assert client.init(anew=False, api_version=3)[0] is ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_the_time_a_transaction_may_take_has_bounds(harness: TransactionHarness, timeout_ms: int) -> None:
    assert TransactionClient(harness).init(timeout_ms)[0] is ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(harness: TransactionHarness) -> None:
    client = TransactionClient(harness)
    client.init(timeout_ms=1_000)
    client.add(0)
    client.write(0, b"late")
    harness.timers.advance(11_000)
    assert client.state() is TransactionState.COMPLETE_ABORT
    assert client.end(commit=True) is ErrorCode.PRODUCER_FENCED
    assert harness.partitions["t", 0].committed_values() == []
    assert harness.partitions["t", 0].last_stable_offset == 2


def test_the_time_of_a_stall_does_not_count_for_a_transaction(harness: TransactionHarness) -> None:
    harness.lost_ms = 7_000  # stalls before the transaction began do not make it longer
    client = TransactionClient(harness)
    client.init(timeout_ms=15_000)
    client.add(0)
    client.write(0, b"in time")
    harness.timers.advance(4_000)
    harness.lost_ms += 60_000
    harness.timers.advance(60_000 + 10_000)
    assert client.state() is TransactionState.ONGOING, "it has been open for 14 s of the broker's time"
    assert client.end(commit=True) is ErrorCode.NONE
    assert harness.partitions["t", 0].committed_values() == [b"in time"]


def test_a_transaction_times_out_after_a_stall_too(harness: TransactionHarness) -> None:
    client = TransactionClient(harness)
    client.init(timeout_ms=15_000)
    client.add(0)
    harness.lost_ms += 60_000
    harness.timers.advance(60_000 + 10_000)
    assert client.state() is TransactionState.ONGOING
    client.add(1)  # the age counts from the first partition
    harness.timers.advance(20_000)
    assert client.state() is TransactionState.COMPLETE_ABORT
    client.init(timeout_ms=15_000)
    client.add(0)
    harness.timers.advance(30_000)
    assert client.state() is TransactionState.COMPLETE_ABORT, "an earlier stall gives the next one no time"


def test_an_id_that_nobody_uses_is_forgotten(harness: TransactionHarness) -> None:
    client = TransactionClient(harness)
    client.init()
    harness.timers.advance(harness.config.transactional_id_expiration_ms + 3_600_000)
    assert "tx" not in harness.core.transactions
    assert client.end(commit=True) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    harness.start()
    assert "tx" not in harness.core.transactions


def test_a_prepared_transaction_is_carried_through_after_a_restart(harness: TransactionHarness) -> None:
    client = TransactionClient(harness)
    client.init()
    client.add(0, 1)
    client.write(0, b"kept")
    harness.partitions["t", 1].fail_next = ErrorCode.KAFKA_STORAGE_ERROR
    assert client.end(commit=True) is ErrorCode.NONE
    assert client.state() is TransactionState.PREPARE_COMMIT
    assert client.add(2) == [ErrorCode.CONCURRENT_TRANSACTIONS]
    assert client.init()[0] is ErrorCode.CONCURRENT_TRANSACTIONS
    harness.start()
    assert client.state() is TransactionState.COMPLETE_COMMIT
    assert harness.partitions["t", 0].committed_values() == [b"kept"]


def test_a_marker_is_written_again_until_the_disk_takes_it(harness: TransactionHarness) -> None:
    client = TransactionClient(harness)
    client.init()
    client.add(0, 1)
    harness.partitions["t", 1].fail_next = ErrorCode.KAFKA_STORAGE_ERROR
    client.end(commit=True)
    harness.timers.advance(1_000)
    assert client.state() is TransactionState.COMPLETE_COMMIT
    assert markers(harness, "t", 0) == markers(harness, "t", 1) == [(client.producer_id, 0)]


def test_a_deleted_topic_needs_no_marker(harness: TransactionHarness) -> None:
    client = TransactionClient(harness)
    client.init()
    client.add(0, 1)
    del harness.partitions["t", 1]
    assert client.end(commit=True) is ErrorCode.NONE
    assert client.state() is TransactionState.COMPLETE_COMMIT


def test_unknown_partitions_add_nothing(harness: TransactionHarness) -> None:
    client = TransactionClient(harness)
    client.init()
    assert client.add(0, 77) == [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert client.state() is TransactionState.EMPTY


def test_the_stored_records_are_what_is_known(harness: TransactionHarness) -> None:
    for version in (0, 2):
        harness = TransactionHarness(transaction_version=version)
        client = TransactionClient(harness)
        client.init()
        client.add(0, 2)
        client.end(commit=True)
        stored = [
            decode_record(record.key or b"", record.value)
            for batch in harness.partitions[TRANSACTION_STATE_TOPIC, 0].batches
            for position, header in iterate_headers(batch)
            for record in iterate_records(batch, header, position)
        ]
        states = [one.transaction.state for one in stored if one is not None and one.transaction is not None]
        assert [state.label for state in states] == ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"]
        assert {one.value_version for one in stored if one is not None} == {min(version, 1)}
        before = harness.core.transactions["tx"]
        harness.start()
        after = harness.core.transactions["tx"]
        assert (after.producer_id, after.producer_epoch, after.state) == (before.producer_id, 0, before.state)
        assert (after == before) is (version > 0)  # version 0 does not store the previous producer id


def test_described_and_listed(harness: TransactionHarness) -> None:
    client = TransactionClient(harness)
    client.init()
    client.add(0, 2)
    request = transactions.DescribeTransactionsRequest(["tx", "nobody", ""])
    states = harness.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, request).transaction_states
    assert [state.error_code for state in states] == [
        ErrorCode.NONE,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
        ErrorCode.INVALID_REQUEST,
    ]
    assert (states[0].transaction_state, states[0].transaction_timeout_ms) == ("Ongoing", TIMEOUT_MS)
    assert [(topic.topic, topic.partitions) for topic in states[0].topics] == [("t", [0, 2])]

    def names(**filters: object) -> list[str]:
        request = transactions.ListTransactionsRequest(**filters)  # type: ignore[arg-type]
        return [
            state.transactional_id for state in harness.ask(ApiKey.LIST_TRANSACTIONS, 2, request).transaction_states
        ]

    assert names() == names(state_filters=["Ongoing"]) == names(producer_id_filters=[client.producer_id]) == ["tx"]
    assert names(state_filters=["Empty"]) == names(state_filters=["Nonsense"]) == names(producer_id_filters=[1]) == []
    assert names(transactional_id_pattern="t.") == ["tx"]
    assert names(transactional_id_pattern="t") == []
    assert names(duration_filter=1_000) == []
    harness.timers.advance(2_000)
    assert names(duration_filter=1_000) == ["tx"]


def test_an_operator_ends_what_hangs(harness: TransactionHarness) -> None:
    client = TransactionClient(harness)
    client.init()
    client.write(0, b"hangs")
    marker = transactions.WriteTxnMarkersRequest.WritableTxnMarker(
        client.producer_id,
        client.producer_epoch,
        False,
        [
            transactions.WriteTxnMarkersRequest.WritableTxnMarkerTopic("t", [0]),
            transactions.WriteTxnMarkersRequest.WritableTxnMarkerTopic("none", [0]),
        ],
        0,
    )
    answer = harness.ask(ApiKey.WRITE_TXN_MARKERS, 1, transactions.WriteTxnMarkersRequest([marker]))
    results = {topic.name: topic.partitions[0].error_code for result in answer.markers for topic in result.topics}
    assert results == {"t": ErrorCode.NONE, "none": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert harness.partitions["t", 0].last_stable_offset == 2


def marker_for(client: TransactionClient, topic: str) -> transactions.WriteTxnMarkersRequest:
    """WriteTxnMarkers of version 2 for partition 0 of a topic, with the client's epoch."""
    topics = [transactions.WriteTxnMarkersRequest.WritableTxnMarkerTopic(topic, [0])]
    marker = transactions.WriteTxnMarkersRequest.WritableTxnMarker(
        client.producer_id, client.producer_epoch, True, topics, 0, 2
    )
    return transactions.WriteTxnMarkersRequest([marker])


def marker_errors(answer: transactions.WriteTxnMarkersResponse) -> list[int]:
    return [answer.markers[0].topics[0].partitions[0].error_code]


def test_receiver_checks_the_epoch_of_a_marker_by_its_transaction_version(harness: TransactionHarness) -> None:
    client = TransactionClient(harness)
    client.init()
    client.write(0, b"open")
    answer = harness.ask(ApiKey.WRITE_TXN_MARKERS, 2, marker_for(client, "t"))
    assert marker_errors(answer) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    client.producer_epoch += 1
    answer = harness.ask(ApiKey.WRITE_TXN_MARKERS, 2, marker_for(client, "t"))
    assert marker_errors(answer) == [ErrorCode.NONE]
    assert harness.partitions["t", 0].last_stable_offset == 2


@pytest.mark.parametrize(("topic", "timeout_ms"), [("t", 30_000), (OFFSETS_TOPIC, 5_000)])
def test_marker_that_is_not_replicated_in_time_is_answered(
    harness: TransactionHarness, topic: str, timeout_ms: int
) -> None:
    """After ``request.timeout.ms``, for groups after ``offsets.commit.timeout.ms``; it stays in the log."""
    client = TransactionClient(harness)
    client.init()
    log = harness.partitions[topic, 0]
    log.is_synced = False
    answers: list[transactions.WriteTxnMarkersResponse] = []
    harness.send(ApiKey.WRITE_TXN_MARKERS, 2, marker_for(client, topic), answers.append)
    harness.timers.advance(timeout_ms - 1)
    assert answers == []
    harness.timers.advance(1)
    assert marker_errors(answers[0]) == [ErrorCode.REQUEST_TIMED_OUT]
    log.sync()
    assert len(answers) == 1
    assert markers(harness, topic, 0) == [(client.producer_id, client.producer_epoch)]


@pytest.mark.parametrize("state", ["loading", "resigned", "stopped"])
def test_marker_for_groups_that_are_not_served_is_answered_as_kafkas_coordinator_expects(
    harness: TransactionHarness, state: str
) -> None:
    """``TransactionMarkerRequestCompletionHandler`` drops a marker for ever after any error that it does not handle."""
    client = TransactionClient(harness)
    client.init()
    groups = harness.broker.group_coordinator
    if state == "loading":
        groups.shard_at(0).state = ShardState.LOADING
    elif state == "resigned":
        groups.resign(0)
    else:
        groups.stop()
    answer = harness.ask(ApiKey.WRITE_TXN_MARKERS, 2, marker_for(client, OFFSETS_TOPIC))
    assert marker_errors(answer) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


@pytest.mark.parametrize(("producer_id", "epoch"), [(-1, 0), (5, -1), (-7, -7)])
def test_a_marker_of_nobody_is_refused(harness: TransactionHarness, producer_id: int, epoch: int) -> None:
    topics = [transactions.WriteTxnMarkersRequest.WritableTxnMarkerTopic("t", [0])]
    marker = transactions.WriteTxnMarkersRequest.WritableTxnMarker(producer_id, epoch, True, topics, 0)
    answer = harness.ask(ApiKey.WRITE_TXN_MARKERS, 1, transactions.WriteTxnMarkersRequest([marker]))
    assert answer.markers[0].topics[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
    assert markers(harness, "t", 0) == []
