"""A page for each group of configuration keys, with a heading for each key, from the tables that the broker reads."""

from collections.abc import Iterable, Iterator

from odradek.broker.config.definition import (
    KeyDefinition,
    client_metrics_keys,
    dynamic_only_keys,
    group_keys,
    server_keys,
    topic_keys,
)
from odradek.broker.config.effective import DYNAMIC_EFFECTIVE, EFFECTIVE
from odradek.broker.config.stored import READ_AT_START
from odradek.broker.config.typed_values import OUR_DEFAULTS
from odradek.broker.config.validators import allowed

FEWEST = 4
"""Keys whose first word fewer keys share are on one page, ``other``."""
OTHER = "other"
NO_EFFECT = "A key of Apache Kafka 4.4 that has no effect in this broker."


def key_pages() -> dict[str, tuple[str, str]]:
    """Name of a page -> (its title, its text): the keys of topics, groups, client metrics, then of a broker."""
    pages = {
        "of-topics": ("Keys of topics", topic_keys().values()),
        "of-groups": ("Keys of groups", group_keys().values()),
        "of-client-metrics": ("Keys of client metrics subscriptions", client_metrics_keys().values()),
    }
    made = {name: (title, _page(title, keys, is_broker=False)) for name, (title, keys) in pages.items()}
    for word, definitions in _broker_groups().items():
        title = "Other keys of a broker" if word == OTHER else f"Keys of a broker: {word}"
        made[f"of-a-broker-{word}"] = (title, _page(title, definitions, is_broker=True))
    return made


def index() -> str:
    """The page that lists the groups of keys."""
    rows = [f"- [{title}]({name}.md)" for name, (title, _) in key_pages().items()]
    text = "Every key that is known. [Configuration](../docs/configuration.md) says how keys are set."
    return "\n".join(["# Configuration keys", "", text, "", *rows, ""])


def _broker_groups() -> dict[str, list[KeyDefinition]]:
    """First word -> the keys of a broker that begin with it, in alphabetical order; ``other`` last."""
    groups: dict[str, list[KeyDefinition]] = {}
    for definition in sorted([*server_keys().values(), *dynamic_only_keys().values()], key=lambda one: one.name):
        groups.setdefault(definition.name.partition(".")[0], []).append(definition)
    small = [word for word, keys in groups.items() if len(keys) < FEWEST]
    other = [key for word in small for key in groups.pop(word)]
    return groups | {OTHER: other}


def _page(title: str, definitions: Iterable[KeyDefinition], *, is_broker: bool) -> str:
    return "\n".join([f"# {title}", "", *(line for one in definitions for line in _section(one, is_broker=is_broker))])


def _section(definition: KeyDefinition, *, is_broker: bool) -> Iterator[str]:
    name = definition.name
    key_with_effect = definition.server_key or name
    effect = EFFECTIVE.get(key_with_effect) or DYNAMIC_EFFECTIVE.get(key_with_effect) or NO_EFFECT
    yield from (f"## {name}", "", _escaped(effect), "", "| | |", "|---|---|")
    yield f"| type | {definition.type.lower()} |"
    yield f"| default | {_default(definition, is_broker=is_broker)} |"
    values = allowed(definition)
    if values:
        yield f"| values | {values} |"
    if definition.server_key is not None:
        yield f"| default set by the broker's key | `{definition.server_key}` |"
    if is_broker:
        yield f"| can be changed at run time | {_change(definition)} |"
    yield ""


def _default(definition: KeyDefinition, *, is_broker: bool) -> str:
    default = OUR_DEFAULTS.get(definition.name, definition.default) if is_broker else definition.default
    if default is None:
        return "none"
    return f"`{default}`" if default else "empty"


def _change(definition: KeyDefinition) -> str:
    if definition.update_mode == "read-only" or definition.name in READ_AT_START:
        return "no"
    return f"yes, {definition.update_mode}"


def _escaped(text: str) -> str:
    """Prose in which Markdown reads no markup, such as the stars and names in angle brackets of a sentence."""
    return "".join(f"\\{one}" if one in "\\`*_<[" else one for one in text)
