"""ACLs, SCRAM users, quotas and configs of every kind. A directory must keep them while Odradek serves it.

set_up(servers)                     # on a Kafka with AUTHORIZER
before = what_is_there(servers)
...
assert what_is_there(servers) == before
"""

import asyncio
import time
from typing import Any

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from door.snapshot import TIMEOUT_S
from odradek.client.cluster.connection import BrokerConnection
from odradek.protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
BROKER, CLIENT_METRICS, GROUP = 4, 16, 32
CONFIGS = (
    (BROKER, "", "log.cleaner.io.buffer.load.factor", "0.8"),
    (BROKER, "1", "background.threads", "9"),
    (CLIENT_METRICS, "subscription", "interval.ms", "45000"),
    (GROUP, "static-1", "consumer.session.timeout.ms", "50000"),
)
"""Resource type, name, key, value."""
USERS = ("alice", "bob", "carol")
QUOTAS = (
    ((("user", "alice"),), "producer_byte_rate", 1_048_576.0),
    ((("user", "alice"), ("client-id", None)), "consumer_byte_rate", 2048.0),
    ((("client-id", "batch"),), "request_percentage", 75.0),
    ((("user", None),), "controller_mutation_rate", 3.0),
    ((("ip", "127.0.0.9"),), "connection_creation_rate", 12.0),
)


def set_up(servers: str, *, with_groups: bool = True) -> None:
    """Adds entries of each kind, and removes some. ``with_groups``: also adds group configs, which need Kafka 4.0."""
    admin: Any = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_acls([*_acls(), _acl("gone", AclOperation.WRITE)]).values():
        future.result(TIMEOUT_S)
    for future in admin.delete_acls([_filter("gone")]).values():
        assert len(future.result(TIMEOUT_S)) == 1
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        info = ScramCredentialInfo(mechanism, 4096)
        changes = [UserScramCredentialUpsertion(user, info, b"secret", b"salt" * 4) for user in USERS]
        for future in admin.alter_user_scram_credentials(changes).values():
            future.result(TIMEOUT_S)
    # No SCRAM user is removed. If Kafka loads a removal together with older records, it also loses other users of the
    # mechanism: ScramDelta.apply drops the mechanism's map while it is empty, and then adds users to the dropped map.
    asyncio.run(_set_quotas_and_configs(servers, with_groups))
    _wait_for_all(servers, with_groups)


def _wait_for_all(servers: str, with_groups: bool) -> None:
    """Waits until the broker shows all changes. Kafka's broker learns them later, from the metadata log."""
    wanted = {key: value for kind, _, key, value in CONFIGS if with_groups or kind != GROUP}
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        found = what_is_there(servers, with_groups=with_groups)
        counts = {name: len(found[name]) for name in ("acls", "scram", "quotas")}
        is_complete = counts == {"acls": len(_acls()), "scram": 2 * len(USERS), "quotas": len(QUOTAS)}
        if is_complete and {key: value for _, _, key, value, _ in found["configs"]} == wanted:
            return
        assert time.monotonic() < deadline, found


def what_is_there(servers: str, *, with_groups: bool = True) -> dict[str, Any]:
    """All ACLs, SCRAM users, quotas and configs, sorted."""
    admin: Any = AdminClient({"bootstrap.servers": servers})
    users = admin.describe_user_scram_credentials(None).result(TIMEOUT_S)
    quotas, configs = asyncio.run(_ask_quotas_and_configs(servers, with_groups))
    return {
        "acls": sorted(str(acl) for acl in admin.describe_acls(_filter(None)).result(TIMEOUT_S)),
        "scram": sorted(
            (user, str(info.mechanism), info.iterations)
            for user, description in users.items()
            for info in description.scram_credential_infos
        ),
        "quotas": quotas,
        "configs": configs,
    }


def _acls() -> list[Any]:
    return [
        _acl(f"topic-{number}", operation) for number, operation in enumerate((AclOperation.READ, AclOperation.ALL))
    ]


def _acl(topic: str, operation: Any) -> Any:
    pattern = ResourcePatternType.PREFIXED if topic.endswith("0") else ResourcePatternType.LITERAL
    allow = AclPermissionType.ALLOW
    return AclBinding(ResourceType.TOPIC, topic, pattern, "User:alice", "*", operation, allow)


def _filter(topic: str | None) -> Any:
    anything: Any = None
    name: Any = topic
    return AclBindingFilter(
        ResourceType.ANY, name, ResourcePatternType.ANY, anything, anything, AclOperation.ANY, AclPermissionType.ANY
    )


async def _set_quotas_and_configs(servers: str, with_groups: bool) -> None:
    ask = AlterClientQuotasRequest
    entries = [
        ask.EntryData([ask.EntityData(*part) for part in entity], [ask.OpData(key, value)])
        for entity, key, value in QUOTAS
    ]
    alter = IncrementalAlterConfigsRequest
    resources = [
        alter.AlterConfigsResource(kind, name, [alter.AlterableConfig(key, 0, value)])
        for kind, name, key, value in CONFIGS
        if with_groups or kind != GROUP
    ]
    connection = await _connect(servers)
    try:
        answer = await connection.call(AlterClientQuotasRequest(entries), AlterClientQuotasResponse)
        assert not any(entry.error_code for entry in answer.entries), answer
        altered = await connection.call(IncrementalAlterConfigsRequest(resources), IncrementalAlterConfigsResponse)
        assert not any(one.error_code for one in altered.responses), altered
    finally:
        connection.close()


async def _ask_quotas_and_configs(servers: str, with_groups: bool) -> tuple[list[Any], list[Any]]:
    describe = DescribeConfigsRequest
    connection = await _connect(servers)
    try:
        everything = DescribeClientQuotasRequest([], strict=False)
        answer = await connection.call(everything, DescribeClientQuotasResponse)
        quotas = [
            (sorted((part.entity_type, part.entity_name or "") for part in entry.entity), one.key, one.value)
            for entry in answer.entries or ()
            for one in entry.values
        ]
        asked = [
            describe.DescribeConfigsResource(kind, name, [key])
            for kind, name, key, _ in CONFIGS
            if with_groups or kind != GROUP
        ]
        described = await connection.call(DescribeConfigsRequest(asked), DescribeConfigsResponse)
        configs = [
            (one.resource_type, one.resource_name, config.name, config.value, config.config_source)
            for one in described.results
            for config in one.configs
        ]
        return sorted(quotas), sorted(configs, key=repr)
    finally:
        connection.close()


async def _connect(servers: str) -> BrokerConnection:
    host, _, port = servers.rpartition(":")
    return await BrokerConnection.open(host, int(port))
