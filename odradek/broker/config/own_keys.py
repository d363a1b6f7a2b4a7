"""Odradek's own configuration keys, for settings that Kafka does not have.

Owns: their definitions, in the format of ``data/server-keys.json``. Never does: redefine a key of Kafka. Invariant:
every name begins with ``odradek.``, so that no later Kafka uses it, and every key has an effect. Kafka ignores these
keys in a file (it logs unknown keys), so one file works for both.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

OWN_PREFIX = "odradek."

OWN_KEYS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "odradek.acks.all.fsync": {
            "type": "BOOLEAN",
            "default": "false",
            "validator": None,
            "importance": "HIGH",
            "what": "Whether acks=all and offset commits are answered only after their records are synced to disk, so"
            " that they survive a power failure. Consumers see only synced records. Waiting requests share a sync.",
        },
        "odradek.connection.authentication.timeout.ms": {
            "type": "LONG",
            "default": "30000",
            "validator": {"kind": "range", "min": 1},
            "importance": "MEDIUM",
            "what": "How long a connection may take from its accept until it has authenticated, TLS handshake included."
            " A connection that takes longer is closed.",
        },
        "odradek.connections.unauthenticated.max": {
            "type": "INT",
            "default": "1000",
            "validator": {"kind": "range", "min": 1},
            "importance": "MEDIUM",
            "what": "The maximum number of connections that have not authenticated yet; at most half of"
            " max.connections. At the limit the oldest one of the address with the most of them is closed.",
        },
        "odradek.connections.unauthenticated.max.bytes": {
            "type": "LONG",
            "default": str(32 << 20),
            "validator": {"kind": "range", "min": 1 << 16},
            "importance": "LOW",
            "what": "The maximum memory for the bytes received from all connections that have not authenticated yet."
            " Above it the largest connection of the address that uses most of it is closed (docs/limits.md).",
        },
        "odradek.console.client.config": {
            "type": "STRING",
            "default": "",
            "validator": None,
            "importance": "LOW",
            "what": "A file with the security properties of the console's clients, such as ssl.truststore.location;"
            " empty: the console trusts the certificate of the listener that it connects to.",
        },
        "odradek.console.credentials": {
            "type": "PASSWORD",
            "default": "",
            "validator": None,
            "importance": "LOW",
            "what": "user:password that the console asks for if no listener has SASL; with SASL, it asks for the user's"
            " own login at the broker.",
        },
        "odradek.console.host.names": {
            "type": "LIST",
            "default": "",
            "validator": None,
            "importance": "LOW",
            "what": "Further names under which browsers reach the console. Requests with any other name are refused.",
        },
        "odradek.console.listener": {
            "type": "STRING",
            "default": "",
            "validator": {"kind": "address"},
            "importance": "LOW",
            "what": "host:port of the console, a page in the browser (docs/console.md); port 0 is any free port; empty:"
            " no console. A host that other machines reach needs TLS and a login.",
        },
        "odradek.console.read.only": {
            "type": "BOOLEAN",
            "default": "false",
            "validator": None,
            "importance": "LOW",
            "what": "Whether the console only shows, and refuses every change.",
        },
        "odradek.console.ssl.enable": {
            "type": "BOOLEAN",
            "default": "false",
            "validator": None,
            "importance": "LOW",
            "what": "Whether the console is served over TLS, with the keys ssl.* that have no listener's name.",
        },
        "odradek.fetch.check.crcs": {
            "type": "BOOLEAN",
            "default": "false",
            "validator": None,
            "importance": "MEDIUM",
            "what": "Whether every batch is checked (CRC, offsets, leader epoch) before a Fetch sends it. A damaged"
            " batch is answered with CORRUPT_MESSAGE and named in the log. Records are then read into memory, not sent"
            " by sendfile.",
        },
        "odradek.group.members.max.bytes": {
            "type": "LONG",
            "default": str(16 << 20),
            "validator": {"kind": "range", "min": 1 << 16},
            "importance": "LOW",
            "what": "The maximum memory for the members of one group: what they send in JoinGroup or"
            " ConsumerGroupHeartbeat, the partitions that they own, and 1 KiB each. Above it these requests are"
            " answered with GROUP_MAX_SIZE_REACHED (docs/limits.md).",
        },
        "odradek.groups.members.max.bytes": {
            "type": "LONG",
            "default": str(64 << 20),
            "validator": {"kind": "range", "min": 1 << 20},
            "importance": "LOW",
            "what": "The maximum memory for the members of all groups together. Above it a request that needs more is"
            " answered with COORDINATOR_NOT_AVAILABLE until there is room.",
        },
        "odradek.log.dirs.max.bytes": {
            "type": "LONG",
            "default": "-1",
            "validator": {"kind": "range", "min": -1},
            "importance": "HIGH",
            "what": "The maximum size of all files in all log.dirs together. Near it the oldest segments of topics"
            " with cleanup.policy=delete are deleted, even if their own retention would keep them; -1: no cap.",
        },
        "odradek.log.dirs.min.free.bytes": {
            "type": "LONG",
            "default": "-1",
            "validator": {"kind": "range", "min": -1},
            "importance": "MEDIUM",
            "what": "If less than this is free on the file system of a log directory, producers are refused with a"
            " retriable error until there is space. -1: 64 MiB, or a sixteenth of a file system below 1 GiB.",
        },
        "odradek.metrics.credentials": {
            "type": "PASSWORD",
            "default": "",
            "validator": None,
            "importance": "LOW",
            "what": "user:password that a client must send to read the metrics (basic authentication); empty: anyone"
            " may read them.",
        },
        "odradek.metrics.listener": {
            "type": "STRING",
            "default": "",
            "validator": {"kind": "address"},
            "importance": "LOW",
            "what": "host:port where Prometheus reads the metrics (docs/metrics.md); port 0 is any free port; empty: no"
            " metrics.",
        },
        "odradek.metrics.ssl.enable": {
            "type": "BOOLEAN",
            "default": "false",
            "validator": None,
            "importance": "LOW",
            "what": "Whether the metrics are served over TLS, with the keys ssl.* that have no listener's name.",
        },
        "odradek.produce.check.records": {
            "type": "BOOLEAN",
            "default": "false",
            "validator": None,
            "importance": "MEDIUM",
            "what": "Whether every record of every batch is checked before it is appended, as Kafka does: lengths,"
            " offsets, timestamps. If false, only the first record is checked, unless the topic requires more.",
        },
        "odradek.request.decoded.max.bytes": {
            "type": "LONG",
            "default": str(16 << 20),
            "validator": {"kind": "range", "min": 1 << 20},
            "importance": "LOW",
            "what": "The maximum memory for the elements of one request, counted as 400 bytes each. A request with more"
            " closes its connection (docs/limits.md).",
        },
        "odradek.request.decoded.total.bytes": {
            "type": "LONG",
            "default": str(64 << 20),
            "validator": {"kind": "range", "min": 1 << 20},
            "importance": "LOW",
            "what": "The maximum memory for the elements of all large requests together; further ones wait in turn.",
        },
        "odradek.request.lanes.enable": {
            "type": "BOOLEAN",
            "default": "true",
            "validator": None,
            "importance": "LOW",
            "what": "Whether small requests of common shapes are served on a shorter path. The answers are the same."
            " Set it to false to find out whether a fault is in that path.",
        },
        "odradek.telemetry.enable": {
            "type": "BOOLEAN",
            "default": "false",
            "validator": None,
            "importance": "MEDIUM",
            "what": "Whether clients can push their metrics (KIP-714), as subscriptions ask for them. The endpoint of"
            " odradek.metrics.listener, which is needed, shows them (docs/metrics.md).",
        },
        "odradek.telemetry.series.max": {
            "type": "INT",
            "default": "20000",
            "validator": {"kind": "range", "min": 1},
            "importance": "LOW",
            "what": "The maximum number of series that clients push. Further ones are dropped and counted.",
        },
        "odradek.transaction.nudge.enable": {
            "type": "BOOLEAN",
            "default": "true",
            "validator": None,
            "importance": "LOW",
            "what": "Whether the broker closes the connection of a client of librdkafka 2.16 or later that stands still"
            " in a transaction after a restart (docs/operating.md). The client then goes on.",
        },
    }
)
"""Key -> its definition (``definition.KeyDefinition``); ``what`` is the sentence for docs/configuration.md.

    "odradek.example.bytes": {
        "type": "LONG",
        "default": "-1",
        "validator": {"kind": "range", "min": -1},
        "importance": "MEDIUM",
        "what": "The most bytes that examples may take; -1: no limit.",
    },
"""
