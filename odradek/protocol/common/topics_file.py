"""The file of topics of ``odradek topics apply`` and ``odradek serve --topics``: what it may say, and what it means.

Owns: reading and writing the YAML. Never does: asking a cluster. Every error names the line. Example::

    defaults:
      partitions: 3
      replicas: 3
      config: {min.insync.replicas: 2}
    topics:
      - name: orders
        partitions: 12
        config:
          retention.ms: 7d
      - name: drafts
        state: absent
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import yaml

DURATION_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
SIZE_BYTES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
UNITS = (("ms", DURATION_MS), ("bytes", SIZE_BYTES))
"""The last word of a config's key -> the units that its value may have."""
NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
FILE_KEYS, DEFAULT_KEYS = ("defaults", "topics"), ("partitions", "replicas", "config")
TOPIC_KEYS = ("name", "state", *DEFAULT_KEYS)


class TopicsFileError(Exception):
    """The file can't be used. The text has the line."""


class WantedTopic(NamedTuple):
    """What the file says about a topic. None: it says nothing, so the broker's default or what is there stays."""

    name: str
    line: int
    is_absent: bool = False
    partitions: int | None = None
    replicas: int | None = None
    config: Mapping[str, str] = {}


def read_topics(text: str) -> list[WantedTopic]:
    """Reads a file. Raises TopicsFileError."""
    try:
        root = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f"line {error.problem_mark.line + 1}: "
        raise TopicsFileError(f"{line}{error.problem}") from None
    except yaml.YAMLError as error:
        raise TopicsFileError(str(error)) from None
    if root is None:
        raise TopicsFileError("line 1: the file is empty; it needs 'topics:'")
    parts = _mapping(root, FILE_KEYS)
    defaults = _settings(_mapping(parts["defaults"], DEFAULT_KEYS)) if "defaults" in parts else {}
    if "topics" not in parts:
        raise _wrong(root, "'topics:' is missing")
    if not isinstance(parts["topics"], yaml.SequenceNode):
        raise _wrong(parts["topics"], "topics must be a list: '- name: orders'")
    found: dict[str, WantedTopic] = {}
    for node in parts["topics"].value:
        topic = _topic(node, defaults)
        if topic.name in found:
            raise _wrong(node, f"the topic {topic.name} is in line {found[topic.name].line}, too")
        found[topic.name] = topic
    return list(found.values())


def _topic(node: yaml.Node, defaults: Mapping[str, Any]) -> WantedTopic:
    parts = _mapping(node, TOPIC_KEYS)
    if "name" not in parts:
        raise _wrong(node, "a topic needs a 'name:'")
    name = _scalar(parts["name"])
    if not NAME.fullmatch(name) or name in (".", ".."):
        raise _wrong(parts["name"], f"{name!r} can't be a topic's name: letters, digits, '.', '_' and '-', at most 249")
    line = node.start_mark.line + 1
    state = _scalar(parts["state"]) if "state" in parts else "present"
    if state not in ("present", "absent"):
        raise _wrong(parts["state"], f"state is {state!r}; it can be present, absent")
    if state == "absent":
        return WantedTopic(name, line, is_absent=True)
    own = _settings(parts)
    config = {**defaults.get("config", {}), **own.get("config", {})}
    return WantedTopic(name, line, **{**defaults, **own, "config": config})


def _settings(parts: Mapping[str, yaml.Node]) -> dict[str, Any]:
    """Partitions, replicas and config, as far as they are given."""
    settings: dict[str, Any] = {}
    for key in ("partitions", "replicas"):
        if key in parts:
            text = _scalar(parts[key])
            if not text.isascii() or not text.isdigit() or int(text) < 1:
                raise _wrong(parts[key], f"{key} is {text!r}; it must be a number from 1 on")
            settings[key] = int(text)
    if "config" in parts:
        settings["config"] = {key: _value(key, node) for key, node in _mapping(parts["config"]).items()}
    return settings


def _value(key: str, node: yaml.Node) -> str:
    """A config's value as the broker wants it: a list with commas, ``7d`` in ms, ``1GiB`` in bytes."""
    if isinstance(node, yaml.SequenceNode):
        return ",".join(map(_scalar, node.value))
    text = _scalar(node)
    if node.tag.endswith(":bool"):
        return str(yaml.safe_load(text)).lower()
    for ending, units in UNITS:
        matched = re.fullmatch(r"(\d+) ?([a-zA-Z]+)", text)
        if matched and re.split(r"[.]", key)[-1] == ending:
            if matched[2] not in units:
                raise _wrong(node, f"{key} is {text!r}; its unit can be {', '.join(units)}")
            return str(int(matched[1]) * units[matched[2]])
    return text


def _mapping(node: yaml.Node, allowed: Iterable[str] | None = None) -> dict[str, yaml.Node]:
    """The values of a mapping. Raises TopicsFileError for another shape, an unknown key, or one that is twice there."""
    if not isinstance(node, yaml.MappingNode):
        raise _wrong(node, "'key: value' is expected here")
    found: dict[str, yaml.Node] = {}
    for key_node, value in node.value:
        key = _scalar(key_node)
        if allowed is not None and key not in allowed:
            raise _wrong(key_node, f"{key!r} is unknown; it can be {', '.join(allowed)}")
        if key in found:
            raise _wrong(key_node, f"{key!r} is there twice")
        found[key] = value
    return found


def _scalar(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise _wrong(node, "one value is expected here")
    return str(node.value)


def _wrong(node: yaml.Node, text: str) -> TopicsFileError:
    return TopicsFileError(f"line {node.start_mark.line + 1}: {text}")


def write_topics(topics: Iterable[WantedTopic]) -> str:
    """The file for topics that exist. :func:`read_topics` reads the same topics from it."""
    entries = [
        {
            "name": topic.name,
            "partitions": topic.partitions,
            "replicas": topic.replicas,
            **({"config": dict(sorted(topic.config.items()))} if topic.config else {}),
        }
        for topic in topics
    ]
    return str(yaml.safe_dump({"topics": entries}, sort_keys=False, allow_unicode=True))
