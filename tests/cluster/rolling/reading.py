"""Reads topics to their end after the clients have ended, and compares the records with the clients' journals."""

import json

from cluster.rolling.clients import CONSUMERS_GROUP, WATCHER
from cluster.rolling.load import Load
from support.eventually import eventually
from support.fire.checks import anomalies, transfer_anomalies
from support.fire.history import (
    ASKER,
    ASSIGNED_READER,
    CONSUMER_READER,
    GROUP_READER,
    IDEMPOTENT,
    TELLER,
    TRANSACTIONAL,
    read_journals,
)
from support.fire.run import ends_of, read_to_end, requests_of
from support.fire.worker import (
    ACCOUNTS,
    POSTINGS,
    READERS_GROUP,
    TELLERS_GROUP,
    TOPIC,
    TRANSFERS,
)

PATIENCE_S = 180.0
BALANCE = 1_000


def until_committed(load: Load, group: str, ends: dict[int, int]) -> None:
    """Waits until a group has committed all of these offsets."""
    eventually(
        lambda: f"{group} at {ends}, not {load.findings.offsets[group]}; {load.findings.errors[:5]}",
        lambda: all(load.findings.offsets[group].get(partition, -1) >= end for partition, end in ends.items()),
        patience_s=PATIENCE_S,
    )


def settle(load: Load, servers: str) -> str:
    """Ends the clients, and compares their journals with the topics. Returns a line with the numbers.

    Raises AssertionError with the anomalies.
    """
    load.end(IDEMPOTENT, TRANSACTIONAL, ASKER)
    final = read_to_end(servers, TOPIC)
    transfers = read_to_end(servers, TRANSFERS)
    until_committed(load, READERS_GROUP, ends_of(final))
    until_committed(load, CONSUMERS_GROUP, ends_of(final))
    until_committed(load, TELLERS_GROUP, ends_of(transfers))
    load.end(ASSIGNED_READER, GROUP_READER, CONSUMER_READER, TELLER, WATCHER)
    load.check()
    postings = read_to_end(servers, POSTINGS)
    history = read_journals(load.journals)
    history.final = {place: int(value) for place, value in final.items()}
    found = anomalies(history)
    asked = requests_of(transfers)
    balances = dict.fromkeys(range(ACCOUNTS), BALANCE)
    found |= transfer_anomalies(asked, [tuple(json.loads(value)) for value in postings.values()], balances, {})
    assert not found, {name: lines[:5] for name, lines in found.items()}
    committed = sum(one.is_committed for one in history.transactions.values())
    assert history.promised()
    assert committed
    assert asked
    findings = load.findings
    return (
        f"{len(history.promised())} promised records, {committed} transactions, {len(asked)} transfers, "
        f"{len(findings.retries)} retries, {len(findings.refused)} commits refused, {findings.given_up} steps given up"
    )
