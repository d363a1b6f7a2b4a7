"""The APIs that this broker answers, with their versions. ApiVersions announces these, but for :data:`TELEMETRY`.

Owns: the table of APIs. Never does: importing a handler before its first use.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from odradek.protocol.apis.api_keys import ApiKey, api

SERVED: dict[int, str] = {
    ApiKey.PRODUCE: "produce",
    ApiKey.FETCH: "fetch",
    ApiKey.LIST_OFFSETS: "list_offsets",
    ApiKey.METADATA: "metadata",
    ApiKey.OFFSET_COMMIT: "offset_commit",
    ApiKey.OFFSET_FETCH: "offset_fetch",
    ApiKey.FIND_COORDINATOR: "find_coordinator",
    ApiKey.JOIN_GROUP: "join_group",
    ApiKey.HEARTBEAT: "heartbeat",
    ApiKey.LEAVE_GROUP: "leave_group",
    ApiKey.SYNC_GROUP: "sync_group",
    ApiKey.DESCRIBE_GROUPS: "describe_groups",
    ApiKey.LIST_GROUPS: "list_groups",
    ApiKey.SASL_HANDSHAKE: "sasl_handshake",
    ApiKey.API_VERSIONS: "api_versions",
    ApiKey.CREATE_TOPICS: "create_topics",
    ApiKey.DELETE_TOPICS: "delete_topics",
    ApiKey.DELETE_RECORDS: "delete_records",
    ApiKey.INIT_PRODUCER_ID: "init_producer_id",
    ApiKey.OFFSET_FOR_LEADER_EPOCH: "offset_for_leader_epoch",
    ApiKey.ADD_PARTITIONS_TO_TXN: "add_partitions_to_txn",
    ApiKey.ADD_OFFSETS_TO_TXN: "add_offsets_to_txn",
    ApiKey.END_TXN: "end_txn",
    ApiKey.WRITE_TXN_MARKERS: "write_txn_markers",
    ApiKey.TXN_OFFSET_COMMIT: "txn_offset_commit",
    ApiKey.DESCRIBE_ACLS: "describe_acls",
    ApiKey.CREATE_ACLS: "create_acls",
    ApiKey.DELETE_ACLS: "delete_acls",
    ApiKey.DESCRIBE_CONFIGS: "describe_configs",
    ApiKey.ALTER_CONFIGS: "alter_configs",
    ApiKey.ALTER_REPLICA_LOG_DIRS: "alter_replica_log_dirs",
    ApiKey.DESCRIBE_LOG_DIRS: "describe_log_dirs",
    ApiKey.SASL_AUTHENTICATE: "sasl_authenticate",
    ApiKey.CREATE_PARTITIONS: "create_partitions",
    ApiKey.CREATE_DELEGATION_TOKEN: "create_delegation_token",
    ApiKey.RENEW_DELEGATION_TOKEN: "renew_delegation_token",
    ApiKey.EXPIRE_DELEGATION_TOKEN: "expire_delegation_token",
    ApiKey.DESCRIBE_DELEGATION_TOKEN: "describe_delegation_token",
    ApiKey.DELETE_GROUPS: "delete_groups",
    ApiKey.ELECT_LEADERS: "elect_leaders",
    ApiKey.INCREMENTAL_ALTER_CONFIGS: "incremental_alter_configs",
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: "alter_partition_reassignments",
    ApiKey.LIST_PARTITION_REASSIGNMENTS: "list_partition_reassignments",
    ApiKey.OFFSET_DELETE: "offset_delete",
    ApiKey.DESCRIBE_CLIENT_QUOTAS: "describe_client_quotas",
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: "describe_user_scram_credentials",
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: "alter_user_scram_credentials",
    ApiKey.ALTER_CLIENT_QUOTAS: "alter_client_quotas",
    ApiKey.DESCRIBE_QUORUM: "describe_quorum",
    ApiKey.UPDATE_FEATURES: "update_features",
    ApiKey.UNREGISTER_BROKER: "unregister_broker",
    ApiKey.UNREGISTER_CONTROLLER: "unregister_controller",
    ApiKey.ADD_RAFT_VOTER: "add_raft_voter",
    ApiKey.REMOVE_RAFT_VOTER: "remove_raft_voter",
    ApiKey.DESCRIBE_CLUSTER: "describe_cluster",
    ApiKey.DESCRIBE_PRODUCERS: "describe_producers",
    ApiKey.DESCRIBE_TRANSACTIONS: "describe_transactions",
    ApiKey.LIST_TRANSACTIONS: "list_transactions",
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: "get_telemetry_subscriptions",
    ApiKey.PUSH_TELEMETRY: "push_telemetry",
    ApiKey.LIST_CONFIG_RESOURCES: "list_config_resources",
    ApiKey.CONSUMER_GROUP_HEARTBEAT: "consumer_group_heartbeat",
    ApiKey.CONSUMER_GROUP_DESCRIBE: "consumer_group_describe",
    ApiKey.SHARE_FETCH: "share_fetch",
    ApiKey.SHARE_ACKNOWLEDGE: "share_acknowledge",
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: "describe_topic_partitions",
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: "initialize_share_group_state",
    ApiKey.READ_SHARE_GROUP_STATE: "read_share_group_state",
    ApiKey.WRITE_SHARE_GROUP_STATE: "write_share_group_state",
    ApiKey.DELETE_SHARE_GROUP_STATE: "delete_share_group_state",
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: "read_share_group_state_summary",
    ApiKey.SHARE_GROUP_HEARTBEAT: "share_group_heartbeat",
    ApiKey.SHARE_GROUP_DESCRIBE: "share_group_describe",
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: "describe_share_group_offsets",
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: "alter_share_group_offsets",
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: "delete_share_group_offsets",
    ApiKey.STREAMS_GROUP_HEARTBEAT: "streams_group_heartbeat",
    ApiKey.STREAMS_GROUP_DESCRIBE: "streams_group_describe",
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: "streams_group_topology_description_update",
}
"""API key -> module of :mod:`..api`: every API that is answered."""

TELEMETRY: frozenset[int] = frozenset({ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY})
"""APIs that are announced only with ``odradek.telemetry.enable``. As in Kafka they are answered without it, too, and
pushes are dropped."""


def served_versions(api_key: int) -> tuple[int, int]:
    """The lowest and highest version of an answered API. As in Kafka, unstable latest versions are left out."""
    return api(api_key).stable_versions


def handler(api_key: int) -> "Handler":
    """The function that answers an API; imports its module on first use."""
    module = import_module(f"odradek.broker.api.{SERVED[api_key]}")
    assert api_key == module.API_KEY, f"{module.__name__} serves {module.API_KEY}, not {api_key}"
    function: Handler = module.handle
    return function


Handler = Callable[[Any, Any, Any, Callable[[Any], None]], Iterator[object] | None]
"""``handle(broker, request, context, reply)``. ``broker``: one of :mod:`..api.parts`.

A handler whose work grows with the request is a generator: each ``yield`` ends a step of less than 1 ms, and more work
follows it. The dispatcher runs the first step at once, so a small request pauses nowhere, and the others in slices
(:mod:`..timers.slices`). Between two steps other requests are served, so the state may have changed, and the bytes of a
frame that is not the request's own (``context.owns_frame``) are gone. If the connection is lost, no further step runs;
a handler that must finish its work passes it to ``broker.slices``.
"""
