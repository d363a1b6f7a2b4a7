"""The authorizer decides as Apache Kafka's StandardAuthorizer does."""

from random import Random
from typing import Any

import pytest

from odradek.broker.security.authorization.standard_authorizer import CACHED_DECISIONS, EVERYTHING, StandardAuthorizer
from odradek.protocol.security.acl import Acl, AclOperation, AclPermission, AclResourceType, PatternType
from support.kafka.java import TABLE_VERSION
from support.kafka.java_program import JavaProgram

ALICE, BOB, HERE, THERE = "User:alice", "User:bob", "127.0.0.1", "10.0.0.9"
LOOPBACK_6, LOOPBACK_6_OF_JAVA = "::1", "0:0:0:0:0:0:0:1"
TOPIC, LITERAL, PREFIXED = AclResourceType.TOPIC, PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = AclPermission.ALLOW, AclPermission.DENY
PRINCIPALS = (ALICE, BOB, "User:root", "Group:alice", "User:*")
NAMES = ("orders", "orders-eu", "ord", "o", "payments", "*", "kafka-cluster", "hardcode", "hard", "händler")
RANGES = ("10.0.0.0/8", "10.0.0.9/32", "127.0.0.0/31", "0.0.0.0/0", "::/0", "::1/128", "10.0.0.0/33", "::/", "a/b")
QUESTIONS_OF_A_SEED = 300


class AclOracle(JavaProgram):
    """Kafka's StandardAuthorizer in a JVM."""

    NAME = "AclOracle"
    RELEASE = TABLE_VERSION


def topic_acl(
    operation: AclOperation,
    permission: AclPermission = ALLOW,
    name: str = "orders",
    pattern: PatternType = LITERAL,
    principal: str = ALICE,
    host: str = "*",
) -> Acl:
    return Acl(TOPIC, name, pattern, principal, host, operation, permission)


def authorizer_of(*acls: Acl, super_users: tuple[str, ...] = (), allow_if_no_acl: bool = False) -> StandardAuthorizer:
    authorizer = StandardAuthorizer(super_users, allow_if_no_acl)
    by_id = {number.to_bytes(16, "big"): acl for number, acl in enumerate(acls)}
    authorizer.update(by_id, by_id)
    return authorizer


def test_without_acls_only_super_users_may_do_something() -> None:
    """Without ACLs everything is denied, except to super users."""
    authorizer = authorizer_of(super_users=("User:root",))
    assert authorizer.allowed(ALICE, HERE, TOPIC, "orders") == 0
    assert authorizer.allowed("User:root", HERE, TOPIC, "orders") == EVERYTHING


def test_a_deny_wins_over_every_allow() -> None:
    """A DENY of a prefix wins over an ALLOW of the name itself."""
    authorizer = authorizer_of(
        topic_acl(AclOperation.ALL), topic_acl(AclOperation.READ, DENY, name="ord", pattern=PREFIXED)
    )
    assert not authorizer.allows(ALICE, HERE, AclOperation.READ, TOPIC, "orders")
    assert authorizer.allows(ALICE, HERE, AclOperation.WRITE, TOPIC, "orders")
    assert authorizer.allows(ALICE, HERE, AclOperation.DESCRIBE, TOPIC, "orders")


def test_removing_an_acl_takes_back_its_decisions() -> None:
    """A removed ACL no longer decides, also if its decision was cached. An equal ACL with another id still decides."""
    prefixed = topic_acl(AclOperation.READ, name="ord", pattern=PREFIXED)
    authorizer = authorizer_of(prefixed, prefixed)
    for number in range(2):
        assert authorizer.allows(ALICE, HERE, AclOperation.READ, TOPIC, "orders")
        authorizer.update({}, [number.to_bytes(16, "big")])
    assert not authorizer.allows(ALICE, HERE, AclOperation.READ, TOPIC, "orders")


def test_everyone_is_allowed_only_where_no_acl_matches_the_resource() -> None:
    """allow.everyone.if.no.acl.found opens a topic without ACLs, and not one with an ACL for another principal."""
    authorizer = authorizer_of(topic_acl(AclOperation.READ, principal=BOB), allow_if_no_acl=True)
    assert authorizer.allowed(ALICE, HERE, TOPIC, "payments") == EVERYTHING
    assert authorizer.allowed(ALICE, HERE, TOPIC, "orders") == 0


def test_an_acl_with_unknown_numbers_decides_nothing() -> None:
    """An ACL of the metadata log with numbers that Kafka does not know matches nothing and raises nothing."""
    authorizer = authorizer_of(
        Acl(TOPIC, "orders", LITERAL, ALICE, "*", -7, ALLOW),
        Acl(TOPIC, "orders", LITERAL, ALICE, "*", 100, ALLOW),
        Acl(TOPIC, "orders", 9, ALICE, "*", AclOperation.ALL, ALLOW),
        Acl(TOPIC, "orders", LITERAL, "nothing", "*", AclOperation.ALL, ALLOW),
        Acl(TOPIC, "orders", LITERAL, ALICE, "*", AclOperation.ALL, 9),
    )
    assert authorizer.allowed(ALICE, HERE, TOPIC, "orders") == 0
    assert not authorizer.allows_any(ALICE, HERE, AclOperation.WRITE, TOPIC)


def test_the_cache_is_bounded() -> None:
    """Requests with ever new names do not make the cache grow without bound."""
    authorizer = authorizer_of(topic_acl(AclOperation.READ))
    for number in range(CACHED_DECISIONS + 10):
        authorizer.allowed(ALICE, HERE, TOPIC, f"invented-{number}")
    assert len(authorizer._cache) <= CACHED_DECISIONS


@pytest.mark.parametrize(
    ("stored", "client", "is_same"),
    [
        (LOOPBACK_6_OF_JAVA, LOOPBACK_6, True),
        (LOOPBACK_6, LOOPBACK_6, True),
        ("2001:DB8:0:0:0:0:0:A", "2001:db8::a", True),
        ("fe80:0:0:0:0:0:0:1%eth0", "fe80::1%eth0", True),
        ("fe80::1%eth1", "fe80::1%eth0", False),
        ("10.0.0.9", "::ffff:10.0.0.9", True),
        ("::ffff:a00:9", "10.0.0.9", True),
        ("::2", LOOPBACK_6, False),
        ("10.0.0.9", "10.0.0.99", False),
        ("not:an:address", "not:an:address", True),
        ("2001:db8::/32", "2001:db8::a", True),
        ("2001:db8:ffff::1/32", "2001:DB8:0:0:0:0:0:A", True),
        ("2001:db8::/32", "2001:db9::a", False),
        ("fe80::/10", "fe80::1%eth0", True),
        ("10.1.2.3/8", "10.0.0.9", True),
        ("10.0.0.0/8", "::ffff:10.0.0.9", True),
        ("10.0.0.9/32", "10.0.0.9", True),
        ("10.0.0.8/32", "10.0.0.9", False),
        ("0.0.0.0/0", "255.0.0.1", True),
        ("0.0.0.0/0", LOOPBACK_6, False),
        ("::/0", LOOPBACK_6, True),
        ("::/0", "10.0.0.9", False),
        ("10.0.0.0/", "10.0.0.9", False),
        ("a/b", "a/b", True),
    ],
)
def test_a_host_is_an_address_and_not_a_text(stored: str, client: str, is_same: bool) -> None:
    """Java writes IPv6 addresses in another form than the system: a DENY in Kafka's directory must hold."""
    authorizer = authorizer_of(
        topic_acl(AclOperation.ALL), topic_acl(AclOperation.WRITE, DENY, host=stored), topic_acl(AclOperation.ALL)
    )
    assert authorizer.allows(ALICE, client, AclOperation.WRITE, TOPIC, "orders") is not is_same
    assert authorizer.allows_any(ALICE, client, AclOperation.WRITE, TOPIC) is not is_same
    authorizer.update({}, [(1).to_bytes(16, "big")])
    assert authorizer.allows(ALICE, client, AclOperation.WRITE, TOPIC, "orders")
    assert authorizer.allows_any(ALICE, client, AclOperation.WRITE, TOPIC)


def test_a_question_for_a_type_looks_at_few_acls() -> None:
    """40,000 ACLs of others cost a user without rights nothing."""
    acls = [
        topic_acl(AclOperation.WRITE, name=f"topic-{number}", principal=f"User:{number % 5000}")
        for number in range(40_000)
    ]
    authorizer = authorizer_of(*acls)
    looked_at = [list(authorizer._acls_of(one, HERE, AclOperation.WRITE, TOPIC, ALLOW)) for one in (ALICE, "User:7")]
    assert [len(one) for one in looked_at] == [0, 8]
    assert not authorizer.allows_any(ALICE, HERE, AclOperation.WRITE, TOPIC)
    assert authorizer.allows_any("User:7", HERE, AclOperation.WRITE, TOPIC)


def random_order(seed: int) -> dict[str, Any]:
    """Random ACLs and authorization requests."""
    random = Random(seed)
    operations = [operation for operation in AclOperation if operation >= AclOperation.ALL]
    types = list(AclResourceType)[2:]
    acls = [
        (
            random.choice(types[:3]) if random.random() < 0.9 else random.choice(types),
            random.choice(NAMES),
            random.choice((LITERAL, LITERAL, PREFIXED)),
            random.choice(PRINCIPALS),
            random.choice(("*", "*", HERE, THERE, LOOPBACK_6_OF_JAVA, *RANGES)),
            random.choice(operations),
            random.choice((ALLOW, ALLOW, ALLOW, DENY)),
        )
        for _ in range(random.choice((0, 1, 3, 10, 40)))
    ]
    askers = [principal for principal in PRINCIPALS if principal != "User:*"]

    def asking() -> list[Any]:
        host = random.choice((HERE, THERE, LOOPBACK_6, "::ffff:10.0.0.9"))
        return [random.choice(askers), host, random.choice(operations[1:]), random.choice(types[:3])]

    return {
        "super": random.choice(("", "User:root", "User:root; User:bob")),
        "allow": random.choice(("true", "false")),
        "acls": list(dict.fromkeys(acls)),
        "one": [[*asking(), random.choice(NAMES)] for _ in range(QUESTIONS_OF_A_SEED)],
        "any": [asking() for _ in range(QUESTIONS_OF_A_SEED // 5)],
    }


def answers_of(order: dict[str, Any]) -> dict[str, list[bool]]:
    """The decisions of our authorizer."""
    authorizer = authorizer_of(
        *(Acl(*acl) for acl in order["acls"]),
        super_users=tuple(user.strip() for user in order["super"].split(";") if user),
        allow_if_no_acl=order["allow"] == "true",
    )
    return {
        "one": [authorizer.allows(*question) for question in order["one"]],
        "any": [authorizer.allows_any(*question) for question in order["any"]],
    }


@pytest.mark.java
def test_kafka_compares_the_text_that_java_writes() -> None:
    """Kafka's class takes the client at ::1 for 0:0:0:0:0:0:0:1, and no other text of its address matches."""
    asked = [ALICE, LOOPBACK_6, AclOperation.READ, TOPIC]
    answers = {}
    with AclOracle() as oracle:
        for host in (LOOPBACK_6_OF_JAVA, LOOPBACK_6, "0000:0:0:0:0:0:0:1", "*"):
            acl = [TOPIC, "orders", LITERAL, ALICE, host, AclOperation.READ, ALLOW]
            order = {"super": "", "allow": "false", "acls": [acl], "one": [[*asked, "orders"]], "any": [asked]}
            answers[host] = oracle.order(order)["one"], answers_of(order)["one"]
    assert answers == {
        LOOPBACK_6_OF_JAVA: ([True], [True]),
        LOOPBACK_6: ([False], [True]),
        "0000:0:0:0:0:0:0:1": ([False], [True]),
        "*": ([True], [True]),
    }


@pytest.mark.java
def test_random_decisions_equal_those_of_kafka() -> None:
    """For random ACLs and requests, the decisions equal those of Kafka's class. ``random_order(SEED)`` replays it."""
    with AclOracle() as oracle:
        for seed in range(200):
            order = random_order(seed)
            ours, theirs = answers_of(order), oracle.order(order)
            for kind in ("one", "any"):
                differing = [
                    (question, mine)
                    for question, mine, its in zip(order[kind], ours[kind], theirs[kind], strict=True)
                    if mine is not its
                ]
                assert not differing, f"random_order({seed}): {kind}, question and our answer: {differing[:5]}"
