"""A directory with SCRAM users, ACLs, quotas and tokens moves from a real Kafka to Odradek and back.

Both brokers must make the same decisions. Each user logs in with SCRAM and sends the requests of the parity tests under
random ACLs. One user is throttled and another is not. A delegation token logs in. Each broker adds to the directory.
"""

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.quotas import AlterClientQuotasRequest, DescribeClientQuotasRequest
from odradek.protocol.messages.security import (
    AlterUserScramCredentialsRequest,
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
)
from odradek.protocol.messages.topics import CreateTopicsRequest
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.protocol.security.acl import Acl, AclOperation, AclPermission, AclResourceType, PatternType
from odradek.protocol.security.scram import MECHANISMS, salted_password
from parity.authorization_names import TOPICS
from parity.authorization_questions import QUESTIONS
from parity.secured import LASTING_KEYS, USERS, Secured, random_acls
from parity.test_delegation_tokens import CONFIG, KAFKA_CONFIG
from parity.two_brokers import KAFKA_KEYS, SAME_KEYS
from support.brokers.our_broker import OurBroker
from support.brokers.sasl_line import LoginFailed, SaslLine
from support.data.messages import to_json
from support.eventually import eventually
from support.kafka.real_kafka import RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]

SEED = 19
SHA = {"alice": "sha256", "bob": "sha512", "carol": "sha256", "dave": "sha512"}
"""User -> SCRAM mechanism. Odradek adds the last user."""
LIMITED, FREE = "127.0.0.4", "127.0.0.2"
"""The addresses of carol, who has a quota, and of alice, who has none."""
QUOTA = 4_000.0
LARGE = 50_000
"""The size of a request in bytes: 5,000 bytes a second for ten seconds."""


class ByScram(Secured):
    """A broker whose users log in with SCRAM. The admin logs in with PLAIN."""

    def __init__(self, port: int) -> None:
        super().__init__(port, has_users=True)

    def connect(self, host: str) -> SaslLine:
        """Opens a connection from an address, and logs in."""
        line = SaslLine(self.port, host)
        if host not in USERS:
            return line.plain("admin", "a")
        return line.scram(USERS[host], f"secret of {USERS[host]}", name=SHA[USERS[host]])

    def add_users(self, users: Sequence[str]) -> None:
        """Creates credentials, and waits until the users can log in."""
        changes = []
        for user in users:
            mechanism = MECHANISMS[f"SCRAM-SHA-{SHA[user][3:]}"]
            salted = salted_password(mechanism, f"secret of {user}", b"salt", 4096)
            change = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
            changes.append(change(user, mechanism.type, 4096, b"salt", salted))
        results = self.ask(AlterUserScramCredentialsRequest([], changes), 0).results
        assert not any(one.error_code for one in results), results
        for user in users:
            eventually(f"{user} logs in", partial(self.logs_in, user, f"secret of {user}"))

    def logs_in(self, user: str, password: str) -> bool:
        """Returns True if the broker accepts the password."""
        with closing(SaslLine(self.port)) as line:
            try:
                line.scram(user, password, name=SHA[user])
            except LoginFailed:
                return False
        return True

    def limit_carol(self) -> None:
        """Sets carol's quota."""
        entity = AlterClientQuotasRequest.EntityData("user", USERS[LIMITED])
        change = AlterClientQuotasRequest.OpData("producer_byte_rate", QUOTA)
        entry = AlterClientQuotasRequest.EntryData([entity], [change])
        assert not self.ask(AlterClientQuotasRequest([entry]), 1).entries[0].error_code

    def quotas(self) -> list[Any]:
        """All quotas."""
        found = self.ask(DescribeClientQuotasRequest([], False), 1).entries
        return [(one.entity, one.values) for one in found]

    def tokens(self) -> list[Any]:
        """All tokens."""
        found: list[Any] = self.ask(DescribeDelegationTokenRequest(None), 3).tokens
        return sorted(found, key=lambda one: one.token_id)


def decisions(side: ByScram) -> list[Any]:
    """All decisions of a broker: the answers to each user, throttling, and logins."""
    side.prepare()
    found: list[Any] = []
    for host in USERS:
        for question in QUESTIONS:
            answer = side.ask(question.make(side.topic_ids), question.version, host)
            codes = "closed" if answer is None else codes_of(to_json(answer, question.version))
            found.append((USERS[host], question.name, codes))
    found += [(user, side.logs_in(user, f"secret of {user}"), side.logs_in(user, "wrong")) for user in SHA]
    for host in (FREE, LIMITED):
        with closing(side.connect(host)) as line:
            answer = line.ask(large_request(), 12)
            assert not answer.responses[0].partition_responses[0].error_code, answer
            found.append((host, answer.throttle_time_ms > 0))
    for token in side.tokens():
        with closing(SaslLine(side.port)) as line:
            line.by_token(token.token_id, bytes(token.hmac))
            refused = line.ask(CreateDelegationTokenRequest(), 3)
            found.append((token.token_id, refused.error_code, refused.principal_name))
    return [*found, *side.quotas(), *sorted(side.acls(), key=str)]


def codes_of(node: Any, name: str = "") -> Any:
    """The error codes, names and authorized operations of an answer."""
    if isinstance(node, dict):
        kept = {key: codes_of(value, key) for key, value in node.items()}
        return {key: value for key, value in kept.items() if value not in (None, [], {})}
    if isinstance(node, list):
        kinds = [kept for one in node if (kept := codes_of(one)) not in (None, [], {}) and "__" not in str(kept)]
        return sorted(kinds, key=str)
    is_decision = name.endswith(("rrorCode", "uthorizedOperations", "ame")) and "host" not in name
    return node if is_decision else None


def large_request() -> ProduceRequest:
    batch = encode_batch([Record(0, 1_700_000_000_000, b"k", bytes(LARGE), [])])
    partition = ProduceRequest.PartitionProduceData(0, batch)
    return ProduceRequest(None, -1, 10_000, [ProduceRequest.TopicProduceData("throttled", partition_data=[partition])])


def topic_acl(topic: str, user: str, host: str, operation: AclOperation) -> Acl:
    """An ACL that allows an operation on a topic."""
    literal, allow = PatternType.LITERAL, AclPermission.ALLOW
    return Acl(AclResourceType.TOPIC, topic, literal, f"User:{user}", host, operation, allow)


def test_all_decisions_are_equal_at_kafka_at_ours_and_at_kafka_again(tmp_path: Path) -> None:
    with RealKafka(tmp_path, {**KAFKA_KEYS, **KAFKA_CONFIG, **LASTING_KEYS}) as kafka:
        with closing(ByScram(kafka.port)) as side:
            topic = CreateTopicsRequest.CreatableTopic("throttled", 1, 1)
            assert not side.ask(CreateTopicsRequest([topic], 30_000), 7).topics[0].error_code
            writers = [topic_acl("throttled", USERS[host], host, AclOperation.WRITE) for host in (FREE, LIMITED)]
            side.create_acls([*writers, *random_acls(SEED, has_users=True)])
            side.add_users(["alice", "bob", "carol"])
            side.limit_carol()
            eventually("the quota is known", side.quotas)
            at_kafka = decisions(side)
        kafka.stop()
    assert (LIMITED, True) in at_kafka
    assert (FREE, False) in at_kafka
    ours = OurBroker(tmp_path, {**SAME_KEYS, **CONFIG, **LASTING_KEYS})
    with ours, closing(ByScram(ours.port)) as side:
        assert differing(decisions(side), at_kafka) == []
        side.create_acls([topic_acl(TOPICS[1], "bob", "*", AclOperation.ALL)])
        side.add_users(["dave"])
        at_ours = decisions(side)
        ours.stop()
    assert at_ours != at_kafka
    again = RealKafka(tmp_path, {**KAFKA_KEYS, **KAFKA_CONFIG, **LASTING_KEYS})
    with again, closing(ByScram(again.port)) as side:
        assert differing(decisions(side), at_ours) == []


def differing(one: list[Any], other: list[Any]) -> list[Any]:
    """The decisions that only one of the two brokers has made."""
    return [item for item in [*one, *other] if (item in one) != (item in other)]
