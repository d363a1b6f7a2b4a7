"""The configuration keys that are ours and not Kafka's: what Kafka has no key for.

Owns: their facts, in the shape of ``data/server-keys.json``. Never does: redefining a key of Kafka's. Invariant: every
name begins with ``odradek.``, so that no later Kafka can take it, and every key has an effect. A real Kafka passes over
them in a file (it logs unknown keys), so one file serves both.
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
            "what": "Whether acks=all, and a commit of offsets, is answered only when its records are on disk, as"
            " survives a power failure; consumers see records once they are. One sync serves all that wait.",
        },
        "odradek.fetch.check.crcs": {
            "type": "BOOLEAN",
            "default": "false",
            "validator": None,
            "importance": "MEDIUM",
            "what": "Whether every batch is checked (CRC, offsets, leader epoch) before a Fetch sends it: a damaged one"
            " is answered with CORRUPT_MESSAGE and named in the log. Records are then read into memory, not sent by"
            " sendfile.",
        },
        "odradek.group.members.max.bytes": {
            "type": "LONG",
            "default": str(16 << 20),
            "validator": {"kind": "range", "min": 1 << 16},
            "importance": "LOW",
            "what": "The most that the members of one classic group may hold: what they send in JoinGroup, and 1 KiB"
            " each. Beyond it JoinGroup is answered GROUP_MAX_SIZE_REACHED (docs/limits.md).",
        },
        "odradek.groups.members.max.bytes": {
            "type": "LONG",
            "default": str(64 << 20),
            "validator": {"kind": "range", "min": 1 << 20},
            "importance": "LOW",
            "what": "The same of all classic groups together; beyond it JoinGroup is answered COORDINATOR_NOT_AVAILABLE"
            " until there is room.",
        },
        "odradek.log.dirs.max.bytes": {
            "type": "LONG",
            "default": "-1",
            "validator": {"kind": "range", "min": -1},
            "importance": "HIGH",
            "what": "The most that all files of all log.dirs may take together. Near it the oldest segments of topics"
            " with cleanup.policy=delete are deleted, whatever their own retention says; -1 no cap.",
        },
        "odradek.log.dirs.min.free.bytes": {
            "type": "LONG",
            "default": "-1",
            "validator": {"kind": "range", "min": -1},
            "importance": "MEDIUM",
            "what": "With less than this free on the file system of a log directory, producers are refused with a"
            " retriable error until there is room; -1 is 64 MiB, or a sixteenth of a smaller file system.",
        },
        "odradek.metrics.listener": {
            "type": "STRING",
            "default": "",
            "validator": {"kind": "address"},
            "importance": "LOW",
            "what": "host:port where Prometheus reads the metrics (docs/metrics.md), port 0 any free one; nothing for"
            " no metrics.",
        },
        "odradek.produce.check.records": {
            "type": "BOOLEAN",
            "default": "false",
            "validator": None,
            "importance": "MEDIUM",
            "what": "Whether every record of every batch is looked at before it is appended, as Kafka does: lengths,"
            " offsets, timestamps. Otherwise only the first record is, unless the topic needs more.",
        },
        "odradek.request.decoded.max.bytes": {
            "type": "LONG",
            "default": str(16 << 20),
            "validator": {"kind": "range", "min": 1 << 20},
            "importance": "LOW",
            "what": "The most memory that the elements of one request may take, 400 bytes each; a request with more"
            " closes its connection (docs/limits.md).",
        },
        "odradek.request.decoded.total.bytes": {
            "type": "LONG",
            "default": str(64 << 20),
            "validator": {"kind": "range", "min": 1 << 20},
            "importance": "LOW",
            "what": "The memory that the elements of all large requests may take together; further ones wait in turn.",
        },
    }
)
"""Key -> its facts (``definition.KeyDefinition``), and in ``what`` one sentence for docs/configuration.md.

    "odradek.example.bytes": {
        "type": "LONG",
        "default": "-1",
        "validator": {"kind": "range", "min": -1},
        "importance": "MEDIUM",
        "what": "How many bytes examples may take; -1 any number.",
    },
"""
