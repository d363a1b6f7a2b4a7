"""The ACLs for the options of ``odradek acls``, and the combinations that are refused."""

import random

import pytest

from odradek.client.admin.acl_types import (
    OPERATIONS_OF,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from odradek.client.commands.acl_options import (
    CLUSTER,
    AclOptions,
    WrongUsageError,
    acls_of_options,
    acls_to_add,
    check_options,
    operation_named,
    operation_names,
)
from odradek.protocol.security.acl_names import known_name

ALICE = ("User:alice",)


def allowed(operation: AclOperation, principal: str = "User:alice", host: str = "*") -> AclEntry:
    return AclEntry(principal, host, operation, AclPermission.ALLOW)


def resource(kind: AclResourceType, name: str, pattern_type: PatternType = PatternType.LITERAL) -> ResourcePattern:
    return ResourcePattern(kind, name, pattern_type)


def test_a_producer_and_consumer_gets_what_both_need() -> None:
    """``--producer --consumer`` together: all operations on the topic, READ for the group, WRITE for the transactional
    id.
    """
    options = AclOptions(
        add=True,
        topic=("t",),
        group=("g",),
        transactional_id=("x",),
        producer=True,
        consumer=True,
        idempotent=True,
        allow_principal=ALICE,
    )
    check_options(options)
    on_topic = (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE, AclOperation.READ)
    assert acls_to_add(options) == {
        resource(AclResourceType.TOPIC, "t"): [allowed(operation) for operation in on_topic],
        resource(AclResourceType.TRANSACTIONAL_ID, "x"): [allowed(AclOperation.WRITE), allowed(AclOperation.DESCRIBE)],
        CLUSTER: [allowed(AclOperation.IDEMPOTENT_WRITE)],
        resource(AclResourceType.GROUP, "g"): [allowed(AclOperation.READ)],
    }


REFUSED = {
    "The --principal option is only available if --list is set": AclOptions(add=True, principal=ALICE),
    "With --producer you must specify a --topic": AclOptions(add=True, producer=True),
    "The --idempotent option is only available if --producer is set": AclOptions(
        add=True, topic=("t",), idempotent=True
    ),
    "With --consumer you must specify a --topic and a --group": AclOptions(add=True, topic=("t",), consumer=True),
    'Option "[list]" can\'t be used with option "[allow-principal]"': AclOptions(list_=True, allow_principal=ALICE),
    'Option "[producer]" can\'t be used with option "[operation]"': AclOptions(
        add=True, topic=("t",), producer=True, operation=("Read",)
    ),
    'Option "[consumer]" can\'t be used with option "[deny-host]"': AclOptions(
        add=True, topic=("t",), group=("g",), consumer=True, deny_host=("h",)
    ),
    "You must provide at least one resource": AclOptions(add=True, allow_principal=ALICE),
    "You must specify one of: --allow-principal, --deny-principal": AclOptions(add=True, topic=("t",)),
    "A '--resource-pattern-type' value of 'MATCH' is not valid when adding acls.": AclOptions(
        add=True, topic=("t",), resource_pattern_type="match", allow_principal=ALICE
    ),
    "AclResourceType GROUP only supports operations": AclOptions(
        add=True, group=("g",), operation=("Write",), allow_principal=ALICE
    ),
    "Unknown operation 'Fly'": AclOptions(add=True, topic=("t",), operation=("Fly",), allow_principal=ALICE),
    "expected a string in format principalType:principalName but got alice": AclOptions(
        add=True, topic=("t",), allow_principal=("alice",)
    ),
}


def checked(options: AclOptions) -> None:
    check_options(options)
    acls_to_add(options)


@pytest.mark.parametrize("message", REFUSED)
def test_what_kafka_refuses_is_refused_with_its_words(message: str) -> None:
    with pytest.raises(WrongUsageError) as caught:
        checked(REFUSED[message])
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("seed", range(20))
def test_random_options_give_each_pair_of_principal_and_host(seed: int) -> None:
    """Principals x operations x hosts, allowed and denied, on each resource; a seed names the failing case."""
    chance = random.Random(seed)
    names = [f"User:{chance.randrange(5)}" for _ in range(chance.randrange(1, 4))]
    denied = [f"User:d{number}" for number in range(chance.randrange(3))]
    hosts = [f"10.0.0.{number}" for number in range(chance.randrange(3))]
    operations = chance.sample(OPERATIONS_OF[AclResourceType.TOPIC].split(), 2)
    topics = [f"t{number}" for number in range(chance.randrange(1, 4))]
    wanted = acls_of_options(
        AclOptions(
            remove=True,
            topic=tuple(topics),
            resource_pattern_type="prefixed",
            operation=tuple(operations),
            allow_principal=tuple(names),
            deny_principal=tuple(denied),
            allow_host=tuple(hosts),
        )
    )
    expected = {
        AclEntry(name, host, AclOperation[operation], AclPermission.ALLOW)
        for name in names
        for operation in operations
        for host in hosts or ["*"]
    }
    expected |= {AclEntry(d, "*", AclOperation[one], AclPermission.DENY) for d in denied for one in operations}
    assert set(wanted) == {resource(AclResourceType.TOPIC, topic, PatternType.PREFIXED) for topic in topics}
    for entries in wanted.values():
        assert set(entries) == expected
        assert len(entries) == len(expected)


def test_operations_are_named_in_any_case() -> None:
    for name in operation_names():
        assert operation_named(name) == operation_named(name.upper()) == operation_named(f" {name.lower()} ")
    assert operation_named("DESCRIBE_CONFIGS") == AclOperation.DESCRIBE_CONFIGS


def test_a_number_that_kafka_does_not_have_is_unknown() -> None:
    assert known_name(AclOperation, 99) == AclOperation.UNKNOWN
    assert known_name(AclResourceType, 2) == AclResourceType.TOPIC


def test_texts_are_javas() -> None:
    assert str(ResourcePattern()) == "ResourcePattern(resourceType=ANY, name=<any>, patternType=LITERAL)"
    assert str(AclEntry()) == "(principal=<any>, host=<any>, operation=ANY, permissionType=ANY)"
