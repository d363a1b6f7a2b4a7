"""Offsets that a transaction commits: when they take effect, and refusals."""

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.names.topics import OFFSETS_TOPIC
from support.transactions.harness import TransactionHarness

from .client import TransactionClient, committed_offset, markers


@pytest.fixture
def harness() -> TransactionHarness:
    return TransactionHarness()


def test_offsets_count_when_their_transaction_commits(harness: TransactionHarness) -> None:
    client = TransactionClient(harness)
    client.init()
    for commit, offset in ((True, 5), (False, 9)):
        assert client.commit_offset(offset) is ErrorCode.INVALID_TXN_STATE
        assert client.add_offsets() is ErrorCode.NONE
        assert client.commit_offset(offset) is ErrorCode.NONE
        assert committed_offset(harness)[0] == (-1 if commit else 5)
        assert committed_offset(harness, stable=True)[1] is ErrorCode.UNSTABLE_OFFSET_COMMIT
        client.end(commit=commit)
        assert committed_offset(harness, stable=True) == (5, ErrorCode.NONE)
    harness.start()
    assert committed_offset(harness) == (5, ErrorCode.NONE)


def test_a_client_of_version_2_adds_the_groups_partition_on_the_way(harness: TransactionHarness) -> None:
    client = TransactionClient(harness, version=2)
    client.init()
    assert client.commit_offset(7, api_version=5) is ErrorCode.NONE
    assert client.end(commit=True) is ErrorCode.NONE
    assert committed_offset(harness) == (7, ErrorCode.NONE)


def test_offsets_of_no_transaction_are_refused(harness: TransactionHarness) -> None:
    client = TransactionClient(harness, name="")
    assert client.commit_offset(1) is ErrorCode.INVALID_REQUEST
    client.name = "never-initialised"
    assert client.commit_offset(1) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_the_groups_topic_gets_its_marker_too(harness: TransactionHarness) -> None:
    client = TransactionClient(harness)
    client.init()
    client.add_offsets()
    client.commit_offset(1)
    client.end(commit=True)
    assert markers(harness, OFFSETS_TOPIC, 0) == [(client.producer_id, 0)]
