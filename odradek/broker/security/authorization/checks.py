"""The table of authorization checks: API key -> check.

Owns: the table. Never does: authorizer the authorizer. Source: ``KafkaApis``, ``ControllerApis``, ``AclApis``.
"""

from odradek.protocol.apis.api_keys import ApiKey

from ...dispatch.served import TELEMETRY
from . import administration, clients, offset_fetch
from . import descriptions as shown
from .checked import Check, Passes
from .rules import RuleCheck

CHECKS: dict[int, Check] = {
    ApiKey.PRODUCE: clients.produce,
    ApiKey.LIST_OFFSETS: clients.list_offsets,
    ApiKey.METADATA: shown.metadata,
    ApiKey.OFFSET_COMMIT: clients.offset_commit,
    ApiKey.OFFSET_FETCH: offset_fetch.offset_fetch,
    ApiKey.FIND_COORDINATOR: clients.find_coordinator,
    ApiKey.JOIN_GROUP: clients.join_group,
    ApiKey.HEARTBEAT: clients.heartbeat,
    ApiKey.LEAVE_GROUP: clients.leave_group,
    ApiKey.SYNC_GROUP: clients.sync_group,
    ApiKey.DESCRIBE_GROUPS: shown.describe_groups,
    ApiKey.LIST_GROUPS: shown.list_groups,
    ApiKey.CREATE_TOPICS: administration.create_topics,
    ApiKey.DELETE_TOPICS: administration.delete_topics,
    ApiKey.DELETE_RECORDS: administration.delete_records,
    ApiKey.INIT_PRODUCER_ID: clients.init_producer_id,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: clients.offset_for_leader_epoch,
    ApiKey.ADD_PARTITIONS_TO_TXN: clients.add_partitions_to_txn,
    ApiKey.ADD_OFFSETS_TO_TXN: clients.add_offsets_to_txn,
    ApiKey.END_TXN: clients.end_txn,
    ApiKey.WRITE_TXN_MARKERS: clients.write_txn_markers,
    ApiKey.TXN_OFFSET_COMMIT: clients.txn_offset_commit,
    ApiKey.DESCRIBE_ACLS: administration.needs_cluster_describe,
    ApiKey.CREATE_ACLS: administration.needs_cluster_alter,
    ApiKey.DELETE_ACLS: administration.needs_cluster_alter,
    ApiKey.DESCRIBE_CONFIGS: administration.describe_configs,
    ApiKey.ALTER_CONFIGS: administration.alter_configs,
    ApiKey.ALTER_REPLICA_LOG_DIRS: administration.needs_cluster_alter,
    ApiKey.DESCRIBE_LOG_DIRS: administration.needs_cluster_describe,
    ApiKey.CREATE_PARTITIONS: administration.create_partitions,
    ApiKey.DELETE_GROUPS: administration.delete_groups,
    ApiKey.ELECT_LEADERS: administration.needs_cluster_alter,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: administration.alter_configs,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: administration.needs_cluster_alter,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: administration.needs_cluster_describe,
    ApiKey.OFFSET_DELETE: administration.offset_delete,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: administration.needs_cluster_describe_configs,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: administration.needs_cluster_describe,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: administration.needs_cluster_alter,
    ApiKey.UPDATE_FEATURES: administration.needs_cluster_alter,
    ApiKey.UNREGISTER_BROKER: administration.needs_cluster_alter,
    ApiKey.UNREGISTER_CONTROLLER: administration.needs_cluster_alter,
    ApiKey.ADD_RAFT_VOTER: administration.needs_cluster_alter,
    ApiKey.REMOVE_RAFT_VOTER: administration.needs_cluster_alter,
    ApiKey.ALTER_CLIENT_QUOTAS: administration.needs_cluster_alter_configs,
    ApiKey.DESCRIBE_QUORUM: administration.needs_cluster_describe,
    ApiKey.DESCRIBE_CLUSTER: shown.describe_cluster,
    ApiKey.DESCRIBE_PRODUCERS: shown.describe_producers,
    ApiKey.DESCRIBE_TRANSACTIONS: shown.describe_transactions,
    ApiKey.LIST_TRANSACTIONS: shown.list_transactions,
    ApiKey.LIST_CONFIG_RESOURCES: administration.needs_cluster_describe_configs,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: clients.consumer_group_heartbeat,
    ApiKey.CONSUMER_GROUP_DESCRIBE: shown.consumer_group_describe,
    ApiKey.SHARE_GROUP_HEARTBEAT: clients.share_group_heartbeat,
    ApiKey.SHARE_GROUP_DESCRIBE: shown.share_group_describe,
    ApiKey.SHARE_FETCH: clients.share_fetch,
    ApiKey.SHARE_ACKNOWLEDGE: clients.share_acknowledge,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: shown.describe_share_group_offsets,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: administration.alter_share_group_offsets,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: administration.delete_share_group_offsets,
    ApiKey.STREAMS_GROUP_HEARTBEAT: clients.streams_group_heartbeat,
    ApiKey.STREAMS_GROUP_DESCRIBE: shown.streams_group_describe,
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: clients.streams_group_topology_description_update,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: shown.describe_topic_partitions,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: administration.needs_cluster_action,
    ApiKey.READ_SHARE_GROUP_STATE: administration.needs_cluster_action,
    ApiKey.WRITE_SHARE_GROUP_STATE: administration.needs_cluster_action,
    ApiKey.DELETE_SHARE_GROUP_STATE: administration.needs_cluster_action,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: administration.needs_cluster_action,
}
TOKEN_APIS = frozenset(
    {
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
    }
)
SASL_APIS = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})
OPEN = TELEMETRY | TOKEN_APIS | SASL_APIS | {ApiKey.API_VERSIONS, ApiKey.FETCH}
"""APIs without a check here. ApiVersions, the SASL APIs and those of telemetry are open to all clients. The handlers of
Fetch and of delegation tokens ask the authorizer themselves."""

PASSES: dict[int, Passes] = {ApiKey.PRODUCE: clients.produce_passes, ApiKey.METADATA: shown.metadata_passes}
"""The quick tests of checks that are not a :class:`RuleCheck`."""


def passes_of(api_key: int) -> Passes | None:
    """The quick test that runs before the check of an API; None if there is none."""
    check = CHECKS.get(api_key)
    return check.passes if isinstance(check, RuleCheck) else PASSES.get(api_key)


def check_of(api_key: int) -> Check | None:
    """The check of an API; None if the API is in :data:`OPEN`. Raises KeyError for an API that is not in the table."""
    return None if api_key in OPEN else CHECKS[api_key]
