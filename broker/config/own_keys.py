"""The configuration keys that are ours and not Kafka's: what Kafka has no key for.

Owns: their facts, in the shape of ``data/server-keys.json``. Never does: redefining a key of Kafka's. Invariant: every
name begins with ``odradek.``, so that no later Kafka can take it, and every key has an effect. A real Kafka passes over
them in a file (it logs unknown keys), so one file serves both.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

OWN_PREFIX = "odradek."

OWN_KEYS: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
"""Key -> its facts (``definition.KeyDefinition``), and in ``what`` one sentence for docs/configuration.md.

    "odradek.example.bytes": {
        "type": "LONG",
        "default": "-1",
        "validator": {"kind": "range", "min": -1},
        "importance": "MEDIUM",
        "what": "How many bytes examples may take; -1 any number.",
    },
"""
