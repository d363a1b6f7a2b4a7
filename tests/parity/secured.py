"""Sends the same requests to two brokers with an authorizer, from clients at different loopback addresses.

One client may do everything and changes the ACLs. Three others send the requests that are compared. Clients log in
with PLAIN if the brokers have users (:data:`USER_KEYS`); otherwise each is ``User:ANONYMOUS``.
"""

import contextlib
import os
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from random import Random
from typing import Any

from answers.corpus import without
from answers.recording import Recording
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.messages import message_class
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.groups import FindCoordinatorRequest, OffsetCommitRequest
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.quorum import UpdateFeaturesRequest
from odradek.protocol.messages.security import (
    CreateAclsRequest,
    CreateDelegationTokenRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
    DescribeDelegationTokenRequest,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import CreateTopicsRequest
from odradek.protocol.messages.transactions import AddPartitionsToTxnRequest, InitProducerIdRequest
from odradek.protocol.security.acl import CLUSTER_NAME, Acl, AclOperation, AclPermission, AclResourceType, PatternType
from odradek.protocol.show.message_documents import document
from parity.authorization_names import GROUPS, LASTING_TRANSACTION, SHARE_PARTITION, TOPICS
from parity.authorization_of_share_groups import joining_member, spare_offset
from parity.authorization_of_streams_groups import LACKING, joining_streams_member
from parity.authorization_questions import QUESTIONS, Question
from parity.authorization_requests import TRANSACTIONAL_ID
from parity.world import comparable
from support.brokers.sasl_line import SaslLine
from support.data.messages import to_json
from support.eventually import eventually

ADMIN, USER, THE_BROKER = "127.0.0.9", "127.0.0.2", "127.0.0.1"
USERS = {USER: "alice", "127.0.0.3": "bob", "127.0.0.4": "carol"}
"""Address -> user, for the users whose requests are compared."""
ANONYMOUS, ANYBODY = "User:ANONYMOUS", "User:*"
OWNER = "User:admin"
"""The owner of the delegation token that others may see. Others also request a new token for this owner."""
AUTHORIZER_KEYS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",  # else no client could create the first ACL
}
LASTING_MS = 36_000_000
"""The timeout of the member and the transaction that are created once for all requests."""
LASTING_KEYS = {
    "group.streams.max.session.timeout.ms": str(LASTING_MS),
    "group.streams.session.timeout.ms": str(LASTING_MS),
    "group.share.max.session.timeout.ms": str(LASTING_MS),
    "group.share.session.timeout.ms": str(LASTING_MS),
    "group.consumer.max.session.timeout.ms": str(LASTING_MS),
    "group.consumer.session.timeout.ms": str(LASTING_MS),
    "transaction.max.timeout.ms": str(LASTING_MS),
}
"""Broker configs that allow LASTING_MS."""
_PLAIN = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="a" '
    'user_admin="a" user_alice="a" user_bob="a" user_carol="a";'
)
USER_KEYS = {
    **AUTHORIZER_KEYS,
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": _PLAIN,
    "delegation.token.secret.key": "one key for all",
    "delegation.token.expiry.check.interval.ms": "86400000",
    **LASTING_KEYS,
}
"""Broker configs for the authorizer and users. The only client listener is named PLAINTEXT."""
TOPIC, GROUP, CLUSTER = AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.CLUSTER
TRANSACTIONAL = AclResourceType.TRANSACTIONAL_ID
TOKEN, USER_TYPE = AclResourceType.DELEGATION_TOKEN, AclResourceType.USER
ALLOW, DENY = AclPermission.ALLOW, AclPermission.DENY
OPERATIONS: dict[AclResourceType, tuple[AclOperation, ...]] = {
    TOPIC: tuple(AclOperation(code) for code in (3, 4, 5, 6, 7, 8, 10, 11)),
    GROUP: tuple(AclOperation(code) for code in (3, 6, 8, 10, 11)),
    CLUSTER: tuple(AclOperation(code) for code in (5, 7, 8, 9, 10, 11, 12)),
    TRANSACTIONAL: tuple(AclOperation(code) for code in (4, 8, 15)),
    TOKEN: (AclOperation.DESCRIBE,),
    USER_TYPE: (AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS),
}
NAMES = {
    TOPIC: TOPICS[0],
    GROUP: GROUPS[0],
    CLUSTER: CLUSTER_NAME,
    TRANSACTIONAL: TRANSACTIONAL_ID,
    TOKEN: "*",
    USER_TYPE: OWNER,
}


IGNORED = {
    "DescribeLogDirsRequest": ("topics",),
    "DescribeConfigsRequest": ("configs",),
    "StreamsGroupHeartbeatRequest": ("status",),
    **dict.fromkeys(
        ("CreateDelegationTokenRequest", "DescribeDelegationTokenRequest"),
        ("tokenId", "hmac", *(f"{name}Timestamp{unit}" for name in ("issue", "expiry", "max") for unit in ("", "Ms"))),
    ),
}
"""Request -> fields of its answer that a recording leaves out: sizes, values of configs, tokens, and whether a topic
could be created yet."""


class Secured:
    """One of the two brokers, with an authorizer."""

    def __init__(self, port: int, *, has_users: bool = False, recording: Recording | None = None) -> None:
        """``has_users``: clients must log in. ``recording`` notes questions and answers for the corpus."""
        self.port = port
        self.recording = recording
        self.has_users = has_users
        self.topic_ids: dict[str, bytes] = {}
        self._lines: dict[str, socket.socket] = {}

    def ask(self, request: Message, version: int, host: str = ADMIN) -> Any:
        """The answer to a client at this address; None if the broker closed the connection."""
        self.send(request, version, host)
        return self.receive(request, version, host)

    def send(self, request: Message, version: int, host: str) -> None:
        """Sends a request without waiting for its answer."""
        line = self._lines.get(host)
        if line is None:
            line = self._lines[host] = self.connect(host).socket
        line.sendall(encode_request(request, version, 7, "asking"))

    def connect(self, host: str) -> SaslLine:
        """Opens a connection from an address, and logs in if the broker has users."""
        line = SaslLine(self.port, host)
        return line.plain(USERS.get(host, "admin"), "a") if self.has_users else line

    def receive(self, request: Message, version: int, host: str) -> Any:
        """The answer to the request that was sent last; None if the broker closed the connection."""
        answer = self._received(request, version, host)
        if self.recording is not None:
            ignored = IGNORED.get(request.NAME, ())
            noted = {"closed": True} if answer is None else {"body": without(document(answer, version), ignored)}
            self.recording.asked(USERS.get(host, "admin"), "asking", request, version, noted, ignored)
        return answer

    def _received(self, request: Message, version: int, host: str) -> Any:
        line = self._lines[host]
        size = self._read(line, 4)
        if size is None:
            line.close()
            del self._lines[host]
            return None
        frame = self._read(line, struct.unpack(">i", size)[0])
        assert frame is not None
        response = message_class(request.NAME.replace("Request", "Response"))
        return decode(response, version, frame, 4 + response_header_version(request.API_KEY, version))[0]

    @staticmethod
    def _read(line: socket.socket, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            piece = line.recv(size - len(data))
            if not piece:
                return None
            data += piece
        return data

    def close(self) -> None:
        """Closes the connections."""
        for line in self._lines.values():
            line.close()

    def create_acls(self, acls: Sequence[Acl]) -> None:
        """Creates ACLs, and waits until the broker shows them."""
        creations = [CreateAclsRequest.AclCreation(*acl) for acl in dict.fromkeys(acls)]
        results = self.ask(CreateAclsRequest(creations), 3).results
        assert not [one for one in results if one.error_code], results
        self._until("the broker knows the new ACLs", lambda: set(acls) <= self.acls())

    def delete_acls_of_users(self) -> None:
        """Deletes the ACLs of the three users, and waits until the broker no longer shows them."""
        one = DeleteAclsRequest.DeleteAclsFilter
        self.ask(DeleteAclsRequest([one(1, None, 1, None, host, 1, 1) for host in USERS]), 3)
        self._until("the broker knows that ACLs are gone", lambda: all(acl.host not in USERS for acl in self.acls()))

    def acls(self) -> set[Acl]:
        """All ACLs."""
        answer = self.ask(DescribeAclsRequest(1, None, 1, None, None, 1, 1), 3)
        return {
            Acl(
                one.resource_type,
                one.resource_name,
                one.pattern_type,
                acl.principal,
                acl.host,
                acl.operation,
                acl.permission_type,
            )
            for one in answer.resources
            for acl in one.acls
        }

    def prepare(self) -> None:
        """Creates the topics, groups and transactional ids of the requests, and waits for their coordinators."""
        everything = [
            Acl(
                kind,
                CLUSTER_NAME if kind is CLUSTER else "*",
                PatternType.LITERAL,
                ANYBODY,
                ADMIN,
                AclOperation.ALL,
                ALLOW,
            )
            for kind in OPERATIONS
        ]
        broker = Acl(CLUSTER, CLUSTER_NAME, PatternType.LITERAL, ANYBODY, THE_BROKER, AclOperation.ALL, ALLOW)
        # A real Kafka's group coordinator asks for the ends of partitions as a client of its own broker.
        ends = Acl(TOPIC, "*", PatternType.LITERAL, ANYBODY, THE_BROKER, AclOperation.DESCRIBE, ALLOW)
        self.create_acls([*everything, broker, ends])
        share = UpdateFeaturesRequest.FeatureUpdateKey("share.version", 1)
        self.ask(UpdateFeaturesRequest(30_000, [share]), 2)
        topics = [CreateTopicsRequest.CreatableTopic(name, 2, 1) for name in TOPICS[:2]]
        self.ask(CreateTopicsRequest(topics, 30_000), 7)
        for key_type, key in ((0, GROUPS[0]), (0, GROUPS[1]), (1, TRANSACTIONAL_ID), (2, SHARE_PARTITION)):
            asked = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
            self._until(f"{key} has a coordinator", partial(self._found, asked))
        self._until("the topics are led", self._learn_topics)
        for group in GROUPS:
            commit = OffsetCommitRequest(
                group,
                -1,
                "",
                topics=[
                    OffsetCommitRequest.OffsetCommitRequestTopic(
                        name, partitions=[OffsetCommitRequest.OffsetCommitRequestPartition(0, 3, committed_metadata="")]
                    )
                    for name in TOPICS[:2]
                ],
            )
            self._until(f"{group} takes commits", partial(self._committed, commit))
        init = InitProducerIdRequest(TRANSACTIONAL_ID, 60_000)
        self._until("the transactional id is known", partial(self._initialised, init))
        self._until("producers get ids", partial(self._initialised, InitProducerIdRequest(None, 60_000)))
        if self.has_users:
            self._prepare_what_lasts()

    def _prepare_what_lasts(self) -> None:
        """Creates a token, a member and a transaction, which no request changes."""
        described = DescribeDelegationTokenRequest(None)
        if not self.ask(described, 3).tokens:
            self.ask(CreateDelegationTokenRequest(max_lifetime_ms=-1), 3)
        self._until("the broker knows the token", lambda: self.ask(described, 3).tokens)
        member = ConsumerGroupHeartbeatRequest(
            "modern",
            "member-of-modern",
            0,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=list(TOPICS[:2]),
            topic_partitions=[],
        )
        self._until("the group has a member", lambda: not self.ask(member, 1).error_code)
        self._until("the share group has a member with partitions", self._shares)
        self._until("the streams group has a member with tasks", self._streams)
        self._until("a share group has an offset", lambda: not self._problem(self.ask(spare_offset(), 0)))
        begun = self._until("a transaction begins", self._begun)
        topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name, [0]) for name in TOPICS[:2]]
        added = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=LASTING_TRANSACTION,
            v3_and_below_producer_id=begun.producer_id,
            v3_and_below_producer_epoch=begun.producer_epoch,
            v3_and_below_topics=topics,
        )
        self._until("the transaction has partitions", lambda: self._added(added))

    def _until(self, what: str, is_so: Callable[[], Any]) -> Any:
        """Waits for a condition. Of questions that are repeated, a recording keeps the last answers."""
        with contextlib.nullcontext() if self.recording is None else self.recording.repeated():
            return eventually(what, is_so)

    def _shares(self) -> bool:
        answer = self.ask(joining_member(), 1)
        return bool(answer.assignment and len(answer.assignment.topic_partitions) == 2)

    def _streams(self) -> bool:
        return bool(self.ask(joining_streams_member(), 1).active_tasks)

    def _problem(self, answer: Any) -> int:
        return int(answer.error_code or answer.responses[0].partitions[0].error_code)

    def _begun(self) -> Any:
        answer = self.ask(InitProducerIdRequest(LASTING_TRANSACTION, LASTING_MS), 4)
        return None if answer.error_code else answer

    def _added(self, request: Message) -> bool:
        found = self.ask(request, 3).results_by_topic_v3_and_below
        return not any(one.partition_error_code for topic in found for one in topic.results_by_partition)

    def _found(self, request: Message) -> bool:
        return not self.ask(request, 6).coordinators[0].error_code

    def _committed(self, request: Message) -> bool:
        return not self.ask(request, 9).topics[0].partitions[0].error_code

    def _initialised(self, request: Message) -> bool:
        return not self.ask(request, 4).error_code

    def _learn_topics(self) -> bool:
        topics = self.ask(MetadataRequest(None), 12).topics
        self.topic_ids = {one.name: one.topic_id for one in topics}
        led = [one for one in topics if one.name in TOPICS and all(each.leader_id >= 0 for each in one.partitions)]
        return len(led) == 2


def of_user(kind: AclResourceType, operation: AclOperation, permission: AclPermission = ALLOW, name: str = "") -> Acl:
    return Acl(kind, name or NAMES[kind], PatternType.LITERAL, ANYBODY, USER, operation, permission)


def everything_allowed() -> list[Acl]:
    return [of_user(kind, AclOperation.ALL, name=CLUSTER_NAME if kind is CLUSTER else "*") for kind in OPERATIONS]


def cases() -> Iterator[tuple[str, list[Acl]]]:
    """Sets of ACLs: none, everything allowed, one operation allowed, one operation denied. Each has a name."""
    yield "nothing", []
    yield "everything", everything_allowed()
    yield "deletion of a topic that is missing", [of_user(TOPIC, AclOperation.DELETE, name="missing")]
    yield "only sight of a group with a member", [of_user(GROUP, AclOperation.DESCRIBE, name="modern")]
    # Its topics too: otherwise the description ends before the operations.
    sight = [of_user(GROUP, AclOperation.DESCRIBE, name="sharing"), of_user(TOPIC, AclOperation.DESCRIBE)]
    yield "only sight of a share group with a member", sight
    sight = [of_user(GROUP, AclOperation.DESCRIBE, name="streaming"), of_user(TOPIC, AclOperation.DESCRIBE)]
    yield "only sight of a streams group with a member", sight
    joins = [of_user(GROUP, AclOperation.READ, name=LACKING), of_user(TOPIC, AclOperation.DESCRIBE, name="*")]
    yield "a streams group without the creation of its internal topic", joins
    creation = of_user(TOPIC, AclOperation.CREATE, name=TOPICS[2])
    yield "a streams group with the creation of its internal topic", [*joins, creation]
    yield "a streams group with the creation of all topics", [*joins, of_user(CLUSTER, AclOperation.CREATE)]
    for kind, operations in OPERATIONS.items():
        for operation in operations:
            yield f"only {operation.name} of {kind.name}", [of_user(kind, operation)]
            yield (
                f"everything but {operation.name} of {kind.name}",
                [*everything_allowed(), of_user(kind, operation, DENY)],
            )


def random_acls(seed: int, has_users: bool = False) -> list[Acl]:
    """Random ACLs for the three users. ``has_users``: users have names, so an ACL may name one of them."""
    random = Random(seed)
    found = []
    for _ in range(random.randint(12, 48)):
        kind = random.choice(list(OPERATIONS))
        names = {TOPIC: TOPICS, GROUP: (*GROUPS, "modern", "classic")}.get(kind, (NAMES[kind],))
        name = random.choice([*names, "*"]) if kind is not CLUSTER else CLUSTER_NAME
        pattern = PatternType.LITERAL
        if kind is not CLUSTER and name != "*" and random.random() < 0.3:
            name, pattern = name[: random.randint(1, len(name))], PatternType.PREFIXED
        operation = random.choice([AclOperation.ALL, *OPERATIONS[kind]])
        permission = DENY if random.random() < 0.2 else ALLOW
        host, user = random.choice(list(USERS.items()))
        own = f"User:{user}" if has_users else ANONYMOUS
        principal = random.choice((own, own, ANYBODY, "User:someone"))
        found.append(Acl(kind, name, pattern, principal, host, operation, permission))
    return found


def only_alice() -> str:
    """The address of alice. The ACLs of :func:`cases` apply to her requests."""
    return USER


def compare(
    sides: tuple[Secured, ...],
    acls: list[Acl],
    questions: Sequence[Question],
    asker: Callable[[], str] = only_alice,
) -> list[str]:
    """The requests that the two brokers answer differently under these ACLs, with both answers.

    ``asker``: returns the address of the client that sends the next request.
    """
    for side in sides:
        if acls:
            side.create_acls(acls)
    differing = []
    for question in questions:
        answers = []
        requests = [question.make(side.topic_ids) for side in sides]
        host = asker()
        for side, request in zip(sides, requests, strict=True):
            side.send(request, question.version, host)  # the brokers handle it at the same time
        for side, request in zip(sides, requests, strict=True):
            answer = side.receive(request, question.version, host)
            answers.append("closed" if answer is None else comparable(without_own(to_json(answer, question.version))))
        if any(answer != answers[0] for answer in answers):
            differing.append(f"{question.name} of {USERS[host]}:\n  ours:  {answers[0]}\n  Kafka: {answers[1]}")
    for side in sides:
        side.delete_acls_of_users()
    return differing


def without_own(answer: Any) -> Any:
    """An answer without internal topics, which the brokers create at different times, and without paths and disk sizes.

    Lists without a fixed order are sorted. For example, Kafka orders a member's topics by their random ids.
    """
    if isinstance(answer.get("topics"), list):
        answer["topics"] = [
            topic for topic in answer["topics"] if not str(topic.get("name") or topic.get("topicName")).startswith("__")
        ]
    answer.get("resultsByTopicV3AndBelow", []).sort(key=str)
    for status in answer.get("status") or ():
        # Whether the topic could be created is known to the next heartbeat, or to a later one.
        status["statusDetail"] = status["statusDetail"].partition("; Creation failed")[0]
    for resource in answer.get("resources", []):
        resource["acls"].sort(key=str)
    for member in (member for group in answer.get("groups", []) for member in group.get("members", [])):
        for assigned in (member.get("assignment"), member.get("targetAssignment")):
            if assigned:
                assigned.get("topicPartitions", []).sort(key=itemgetter("topicName"))
    for token in answer.get("tokens", []):
        for own in ("tokenId", "hmac", "issueTimestamp", "expiryTimestamp", "maxTimestamp"):
            token.pop(own)
    for transaction in answer.get("transactionStates", []):
        transaction.pop("transactionStartTimeMs", None)
    for result in answer.get("results", []):
        if "logDir" in result:
            for own in ("logDir", "totalBytes", "usableBytes", "topics"):
                result.pop(own, None)
    return answer


def ask_under_random_acls(secured: tuple[Secured, ...], sets: int) -> None:
    """Sends all requests under random ACLs, each as a random user.

    The environment variables ACL_SEED and ACL_SETS repeat a run.
    """
    first = int(os.environ.get("ACL_SEED", "1"))
    for seed in range(first, first + sets):
        acls = random_acls(seed, secured[0].has_users)
        differing = compare(secured, acls, QUESTIONS, partial(Random(f"{seed} asks").choice, list(USERS)))
        again = f"ACL_SEED={seed} ACL_SETS=1 pytest tests/parity/test_authorization.py -k random"
        assert not differing, "\n".join([*differing, str(acls), again])[:6_000]
