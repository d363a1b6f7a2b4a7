"""The one table of what the page may ask for. The server walks it; a test does, too."""

from .context import ViewRoute
from .views import (
    broker_insights,
    browse,
    cluster,
    group_actions,
    groups,
    lag_history,
    record_actions,
    topic_actions,
    topics,
    transactions,
)

TOPIC, PARTITION, GROUP = "/api/topics/{topic}", "/api/topics/{topic}/partitions/{partition}", "/api/groups/{group}"

ROUTES: tuple[ViewRoute, ...] = (
    ViewRoute("GET", "/api/overview", cluster.overview),
    ViewRoute("GET", "/api/cluster", cluster.cluster),
    ViewRoute("GET", "/api/storage", cluster.storage),
    ViewRoute("GET", "/api/topics", topics.topics),
    ViewRoute("GET", "/api/topic-details", topics.details),
    ViewRoute("GET", TOPIC, topics.topic),
    ViewRoute("GET", TOPIC + "/offsets", topics.offsets),
    ViewRoute("GET", TOPIC + "/configs", topics.configs),
    ViewRoute("GET", TOPIC + "/readers", topic_actions.readers),
    ViewRoute("GET", TOPIC + "/records", browse.browse),
    ViewRoute("GET", TOPIC + "/search", browse.search, is_stream=True),
    ViewRoute("GET", TOPIC + "/tail", browse.tail, is_stream=True),
    ViewRoute("GET", PARTITION + "/records/{offset}", browse.one_record),
    ViewRoute("GET", PARTITION + "/records/{offset}/download", browse.download),
    ViewRoute("GET", PARTITION + "/batches", browse.batches),
    ViewRoute("GET", PARTITION + "/producers", transactions.producers),
    ViewRoute("GET", "/api/groups", groups.groups),
    ViewRoute("GET", "/api/group-details", groups.details),
    ViewRoute("GET", GROUP, groups.group),
    ViewRoute("GET", GROUP + "/lag", lag_history.history_of),
    ViewRoute("GET", "/api/rebalances", broker_insights.rebalances),
    ViewRoute("GET", "/api/transactions", transactions.transactions),
    ViewRoute("GET", "/api/transaction-details", transactions.details),
    ViewRoute("GET", "/api/connections", broker_insights.connections),
    ViewRoute("GET", "/api/log", broker_insights.log_stream, is_stream=True),
    ViewRoute("POST", "/api/topics", topic_actions.create),
    ViewRoute("POST", TOPIC + "/configs", topic_actions.change),
    ViewRoute("POST", TOPIC + "/partitions", topic_actions.add_partitions),
    ViewRoute("POST", TOPIC + "/delete", topic_actions.delete),
    ViewRoute("POST", TOPIC + "/records", record_actions.produce),
    ViewRoute("POST", GROUP + "/offsets", group_actions.reset_offsets),
)
"""Every path under ``/api/`` but that of the login."""
