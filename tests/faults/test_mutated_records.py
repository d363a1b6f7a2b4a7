"""Records that no broker writes, in the logs of the internal topics: they may only affect their own partition.

A broker cannot serve without ``__cluster_metadata``: a bad record there ends the start with one line. A failure prints
the line that replays it. ``tests/faults/loading_fuzz.py`` defines a life.
"""

import logging
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from faults.lives import RECORDS_PER_LIFE
from faults.loading_fuzz import KINDS
from odradek.broker.metadata.log.log_reader import MetadataLogError
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages import groups, metadata_records, transactions
from odradek.protocol.names.topics import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.protocol.records.builder import BatchBuilder
from parity.side import Side, produce_request
from support.brokers.metadata_service import open_service
from support.brokers.our_broker import OurBroker
from support.data.mutated_records import MutatedRecords, group_types, transaction_types
from support.kafka.directory import NOW_MS, TOPIC_ID, KafkaDirectory, Versioned, partition

FEW_LIVES = 10
NIGHTLY_RECORDS = 100_000
LONG_RECORDS = 1_000_000
FEW_SEED, NIGHTLY_SEED, LONG_SEED = 1, 40_000, 41_000
LIVES_PER_SEED = 400
"""After this many lives, values come from the next seed."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Disables the millions of log lines of created and removed groups."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


def run(kind: str, seed: int, records: int) -> None:
    """Runs enough lives for a number of records."""
    lives_left = -(-records // RECORDS_PER_LIFE)
    while lives_left:
        lives = KINDS[kind](seed)
        count = min(lives_left, LIVES_PER_SEED)
        for life in range(count):
            lives.run(life)
        assert lives.asked > count
        lives_left -= count
        seed += 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_mutated_records(kind: str) -> None:
    run(kind, FEW_SEED, FEW_LIVES * RECORDS_PER_LIFE)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_mutated_records(kind: str) -> None:
    """There are 100,000 records in all."""
    run(kind, NIGHTLY_SEED, NIGHTLY_RECORDS // len(KINDS))


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_million_mutated_records(kind: str) -> None:
    run(kind, LONG_SEED, LONG_RECORDS // len(KINDS))


PARTITIONS = 10
ROUNDS = 3
RECORDS_A_ROUND = 4
REAL_SEED = 42_001


@pytest.mark.ci
def test_mutated_records_through_produce_kill_and_start(tmp_path: Path) -> None:
    """The broker keeps serving after any records of clients in its internal topics, before and after each kill.

    A partition that can't be loaded is logged in one line at each start, and the others are served. Every second start
    is without lanes.
    """
    keys = {"offsets.topic.num.partitions": f"{PARTITIONS}", "transaction.state.log.num.partitions": f"{PARTITIONS}"}
    rng = random.Random(REAL_SEED)
    sources = {
        OFFSETS_TOPIC: MutatedRecords(rng, group_types),
        TRANSACTION_STATE_TOPIC: MutatedRecords(rng, transaction_types),
    }
    with OurBroker(tmp_path, keys | {"auto.create.topics.enable": "false"}) as broker:
        for number in range(ROUNDS):
            side = Side(cast("Any", None), broker.port, True)
            make_internal_topics(side)
            for topic, source in sources.items():
                for index in range(PARTITIONS):
                    for _ in range(RECORDS_A_ROUND):
                        produce_as_admin(side, topic, index, *source.next())
            make_internal_topics(side)
            broker.kill()
            broker.configs["odradek.request.lanes.enable"] = "true" if number % 2 else "false"
            logged = len(broker.log())
            broker.start()
            said = broker.log()[logged:]
            assert "Traceback" not in said
            failed = re.findall(r"(__\w+-\d+) cannot be loaded", said)
            assert len(failed) == len(set(failed))
            assert len(failed) <= 2 * PARTITIONS  # the log's limit of bytes may drop some lines
            places = re.findall(r"cannot be loaded; .*/__\w+-\d+/\d+\.log, offset \d+, ", said)
            assert len(places) == len(failed)
        assert failed, "nothing was refused: the records were not mutated"
        request = transactions.DescribeTransactionsRequest([f"id {number}" for number in range(50)])
        described: Any = side.raw(request, 0)
        answers = {state.error_code for state in described.transaction_states}
        assert answers <= {ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, ErrorCode.NOT_COORDINATOR}, answers
        assert ErrorCode.TRANSACTIONAL_ID_NOT_FOUND in answers, "everything was refused"


def make_internal_topics(side: Side) -> None:
    """Creates both topics, and waits until the broker answers."""
    for key_type in (0, 1):
        found: Any = side.raw(groups.FindCoordinatorRequest("any", key_type), 2)
        assert found.error_code == 0
    listed: Any = side.raw(groups.ListGroupsRequest(), 5)
    assert listed.error_code == 0
    answered: Any = side.raw(transactions.ListTransactionsRequest(), 0)
    assert answered.error_code == 0


def produce_as_admin(side: Side, topic: str, index: int, key: bytes | None, value: bytes | None) -> None:
    """Produces one record with the client id that may write to internal topics. It is stored or refused."""
    builder = BatchBuilder()
    builder.append(NOW_MS, key, value)
    answer: Any = side.raw(produce_request(topic, builder.build(), partition=index), 9, "__admin_client")
    error = answer.responses[0].partition_responses[0].error_code
    assert (error == 0) == (key is not None), error


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ((metadata_records.TopicRecord("../elsewhere", b"e" * 16), 0), "is not a topic name"),
        (partition(-5), "can't have a partition -5"),
        (partition(3, directories=[b"d" * 16] * 2), "2 directories for 1 replicas"),
        (partition(3, leader_recovery_state=7), "ValueError: 7 is not a valid LeaderRecoveryState"),
        ((metadata_records.RemoveTopicRecord(b"n" * 16), 0), "no topic has the id"),
        ((metadata_records.TopicRecord("again", TOPIC_ID), 0), "exists already"),
    ],
    ids=["name", "negative-partition", "directories", "enumeration", "unknown-topic", "twice"],
)
def test_a_bad_metadata_record_ends_the_start_with_file_offset_and_record(
    tmp_path: Path, record: Versioned, problem: str
) -> None:
    directory = KafkaDirectory()
    directory.metadata.append([record])
    directory.write(tmp_path)
    with pytest.raises(MetadataLogError) as refusal, open_service(tmp_path, node_id=directory.node_id):
        pass
    said = str(refusal.value)
    assert re.search(r"/__cluster_metadata-0/0{20}\.log, byte \d+ \(offset 6\): ", said), said
    assert problem in said
    assert f"the record is {type(record[0]).__name__}(" in said
    assert "\n" not in said
