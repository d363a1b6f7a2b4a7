"""Both brokers store equal records in ``__consumer_offsets`` and ``__transaction_state`` for the same scripts.

Kafka's formatters and serdes decode each of our records and encode it to the same bytes. Odradek decodes each of
Kafka's records and encodes it to the same bytes. Our coordinators load the same state from either broker's logs.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.coordinator.loading import load_steps
from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.core import GroupCore
from odradek.broker.groups.records import decode_record as decode_group_record
from odradek.broker.transactions.config import TransactionCoordinatorConfig
from odradek.broker.transactions.core import TransactionCore
from odradek.broker.transactions.records import decode_record as decode_transaction_record
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.record import iterate_records
from parity.coordination import play
from parity.side import Side, same
from parity.test_group_scripts import STATES as GROUP_STATES
from parity.test_transaction_scripts import STATES as TRANSACTION_STATES
from parity.test_transaction_scripts import Player
from parity.two_brokers import TwoBrokers
from support.kafka.java import java_class, run_class

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOPIC = "recorded"


class StoredLog:
    """The segments of one partition, with the interface from which a coordinator loads."""

    def __init__(self, directory: Path) -> None:
        self._segments = sorted(directory.glob("*.log"))

    def read_batches(self) -> Iterator[bytes]:
        """The stored batches, one segment at a time, up to the first incomplete batch."""
        for segment in self._segments:
            data = segment.read_bytes()
            whole = max((position + header.size_in_bytes for position, header in iterate_headers(data)), default=0)
            yield data[:whole]

    def records(self) -> Iterator[tuple[bytes, bytes | None]]:
        """The keys and values of all records, without control batches."""
        for data in self.read_batches():
            for position, header in iterate_headers(data):
                if not header.is_control:
                    for record in iterate_records(data, header, position):
                        yield record.key or b"", record.value


@pytest.fixture(scope="module", autouse=True)
def played(both: TwoBrokers) -> None:
    """Creates groups and transactions in every state on both brokers."""
    same(both, lambda side: side.topic(TOPIC, len(TRANSACTION_STATES)))
    for number, script in enumerate(GROUP_STATES.values()):
        play(both, f"recorded-{number}", TOPIC, [script])
    for number, script in enumerate(TRANSACTION_STATES.values()):

        def play_transaction(side: Side, number: int = number, script: str = script) -> Any:
            player = Player(side, f"recorded-transaction-{number}", TOPIC, number)
            return [player.play(script), player.transactional.seen()]

        same(both, play_transaction)


def logs(directory: Path, topic: str) -> list[StoredLog]:
    """The partitions of a topic."""
    found = [StoredLog(path) for path in sorted(directory.glob(f"{topic}-*"))]
    assert found
    return found


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state"])
def test_kafka_reads_what_ours_has_written(both: TwoBrokers, topic: str) -> None:
    written = [record for log in logs(both.our_log_dir, topic) for record in log.records()]
    assert len(written) >= 30
    lines = "".join(f"{key.hex()} {'-' if value is None else value.hex()}\n" for key, value in written)
    arguments = ["transactions"] if topic == "__transaction_state" else []
    result = run_class(java_class("GroupRecords"), *arguments, standard_input=lines)
    assert result.returncode == 0, result.stderr
    shown = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(one["keyBytes"], one["valueBytes"]) for one in shown] == [
        (key.hex(), None if value is None else value.hex()) for key, value in written
    ]
    for one, (_, value) in zip(shown, written, strict=True):
        assert one["key"] is not None
        assert (one["value"] is None) == (value is None)
        assert one.get("loaded", "TxnRecord") == ("TxnRecord" if value is not None or not arguments else "TxnTombstone")


def test_ours_reads_what_kafka_has_written(both: TwoBrokers) -> None:
    count = 0
    for topic in ("__consumer_offsets", "__transaction_state"):
        for log in logs(both.kafka_log_dir, topic):
            for key, value in log.records():
                decode = decode_group_record if topic == "__consumer_offsets" else decode_transaction_record
                record = decode(key, value)
                assert record is not None
                assert record.key_bytes() == key
                # Kafka orders the topics of a transaction as a hash map does, so only the order of bytes may differ.
                assert sorted(record.value_bytes() or b"") == sorted(value or b"")
                again = decode(key, record.value_bytes())
                assert getattr(again, "transaction", None) == getattr(record, "transaction", None)
                if topic == "__consumer_offsets":
                    assert record.value_bytes() == value
                count += 1
    assert count >= 60


def groups_of(directory: Path) -> dict[str, Any]:
    """The scripts' groups as our coordinator loads them, without ids and times."""
    found: dict[str, Any] = {}
    for log in logs(directory, "__consumer_offsets"):
        core = GroupCore(GroupCoordinatorConfig(), lambda: "uuid")
        for _ in load_steps(log, core, 0):  # type: ignore[arg-type]
            pass
        effects = core.effects(0)
        core.on_loaded(effects)
        for group_id, group in core.groups.classic.items():
            if group_id.startswith("recorded-"):
                found[group_id] = (
                    group.state,
                    group.generation_id,
                    group.protocol_type,
                    group.protocol_name,
                    sorted(
                        (
                            str(member.group_instance_id),
                            member.client_id,
                            member.session_timeout_ms,
                            member.rebalance_timeout_ms,
                            member.protocols,
                            member.assignment,
                            group.is_leader(member.member_id),
                        )
                        for member in group.members.values()
                    ),
                    [
                        (topic, partition, offset.offset, offset.leader_epoch, offset.metadata)
                        for topic, partitions in core.offsets.topics_of(group_id).items()
                        for partition, offset in partitions.items()
                    ],
                    core.offsets.has_open_transactions(group_id),
                )
    return found


def test_groups_that_are_loaded_from_either_are_the_same(both: TwoBrokers) -> None:
    ours, kafka = groups_of(both.our_log_dir), groups_of(both.kafka_log_dir)
    assert ours == kafka
    assert len(ours) >= len(GROUP_STATES)


def transactions_of(directory: Path) -> dict[str, Any]:
    """The scripts' transactions as our coordinator loads them, without ids and times."""
    found: dict[str, Any] = {}
    for log in logs(directory, "__transaction_state"):
        core = TransactionCore(TransactionCoordinatorConfig(), lambda: 0, lambda: 2, lambda: 0)
        for _ in load_steps(log, core, 0):  # type: ignore[arg-type]
            pass
        for name, one in core.transactions.items():
            if name.startswith("recorded-"):
                found[name] = (
                    one.state,
                    one.producer_epoch,
                    one.timeout_ms,
                    one.partitions,
                    one.previous_producer_id in (-1, one.producer_id),
                    one.next_producer_id,
                    one.client_transaction_version,
                    one.start_timestamp_ms > 0,
                )
    return found


def test_transactions_that_are_loaded_from_either_are_the_same(both: TwoBrokers) -> None:
    ours, kafka = transactions_of(both.our_log_dir), transactions_of(both.kafka_log_dir)
    assert ours == kafka
    assert len(ours) == len(TRANSACTION_STATES) - 1
