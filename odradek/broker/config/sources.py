"""The sources of settings (properties file, environment, ``--override``), and the look-up of their keys.

Owns: the order of precedence (defaults < file < environment < overrides), the check whether a name is a key. Pure: the
texts are passed in.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.java.properties import Entry, parse_properties

from .definition import server_keys
from .foreign_keys import OF_CLIENTS, is_removed
from .own_keys import OWN_PREFIX
from .security import KEYS_OF_NO_TABLE
from .service_variables import is_of_a_service

with lazy_imports:
    import difflib

ENVIRONMENT_PREFIX = "ODRADEK_"
OTHER_VARIABLES = frozenset(
    {
        "ODRADEK_ADMIN",
        "ODRADEK_BOOTSTRAP_SERVER",
        "ODRADEK_COMMAND_CONFIG",
        "ODRADEK_CREATE_TOPICS",
        "ODRADEK_IMAGE",
        "ODRADEK_JOBS_IMAGE",
        "ODRADEK_LOGS",
        "ODRADEK_PORT",
        "ODRADEK_REWRITE_SCRIPTS",
        "ODRADEK_TOPICS_FILE",
    }
)
"""Variables of the other commands, the images, the compose files and the tests: they are not keys, so a broker ignores
them."""

PASSED_PREFIXES = (
    "listener.name.",
    "config.providers.",
    "rsm.config.",
    "rlmm.config.",
    "authorizer.",
    "client.quota.callback.",
    "metric.reporters.",
)
"""Names with these prefixes belong to a listener or a plugin, so they can't be checked. ``listener.name.…`` overrides a
key for one listener.
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as given. ``where`` is its place for messages, such as ``line 12``."""

    key: str
    text: str
    where: str


def collect(
    properties: str | None,
    overrides: Sequence[str],
    environ: Mapping[str, str],
    variables: Sequence[tuple[str, str]] = (),
    overrides_are: str = "--override",
) -> tuple[list[Setting], list[str]]:
    """All settings, lowest precedence first, and the problems with their form or their names.

    ``variables``: (environment variable, ``key=value``) for variables whose names do not begin with ENVIRONMENT_PREFIX.
    ``overrides_are`` names the place of the overrides in messages.
    """
    settings: list[Setting] = []
    problems: list[str] = []
    try:
        entries = parse_properties(properties or "")
        settings += [Setting(entry.key, entry.value, f"line {entry.line}") for entry in entries]
    except ValueError as malformed:
        problems.append(f"The properties file can't be read: {malformed}")
    settings += environment_settings(environ)
    named = [(_variable(name), override) for name, override in variables]
    for where, override in (*named, *((overrides_are, override) for override in overrides)):
        key, equals, text = override.partition("=")
        if equals:
            settings.append(Setting(key.strip(), text, where))
        else:
            problems.append(f"{where} {override}: must be key=value")
    problems += [f"{unknown_key(setting.key)} ({setting.where})" for setting in settings if not is_known(setting.key)]
    return [setting for setting in settings if is_known(setting.key)], problems


def repeated_keys(properties: str) -> Iterator[str]:
    """One warning for each key that a properties text sets to several values. The last value counts, as in Java."""
    places: dict[str, list[Entry]] = {}
    for entry in parse_properties(properties):
        places.setdefault(entry.key, []).append(entry)
    for key, entries in places.items():
        if len({entry.value for entry in entries}) > 1:
            lines = ", ".join(str(entry.line) for entry in entries[:-1])
            yield f"{key} is set in line {lines} and again in line {entries[-1].line}, which takes effect"


def environment_settings(environ: Mapping[str, str]) -> Iterator[Setting]:
    """The settings among the variables of an environment.

    A variable whose name is the :func:`environment_name` of a known key sets that key: ``ODRADEK_LOG_SEGMENT_BYTES``
    sets ``log.segment.bytes``. No two known keys have the same one. Other names, such as those of keys with the prefix
    of a listener, are converted as in Apache Kafka's image: ``___`` to a hyphen, ``__`` to an underscore, ``_`` to a
    dot.
    """
    given = {
        name: text
        for name, text in environ.items()
        if name.startswith(ENVIRONMENT_PREFIX)
        and name not in OTHER_VARIABLES
        and not is_of_a_service(name, text, ENVIRONMENT_PREFIX)
    }
    if not given:
        return
    known = {environment_name(key): key for key in server_keys()}
    for name, text in given.items():
        key = known.get(name) or _key_of_variable(name.removeprefix(ENVIRONMENT_PREFIX))
        yield Setting(key, text, _variable(name))


def _variable(name: str) -> str:
    return f"environment variable {name}"


def environment_name(key: str) -> str:
    """The environment variable of a known key. Of our own keys, the prefix ``odradek.`` is left out."""
    return ENVIRONMENT_PREFIX + key.removeprefix(OWN_PREFIX).upper().replace(".", "_")


def _key_of_variable(name: str) -> str:
    hyphen, underscore = "\0", "\1"
    marked = name.lower().replace("___", hyphen).replace("__", underscore)
    return marked.replace("_", ".").replace(underscore, "_").replace(hyphen, "-")


def is_known(key: str) -> bool:
    """Whether a key may be set: a key of Kafka's, or one of a listener, an authorizer, Java or a plugin."""
    return key in server_keys() or key in KEYS_OF_NO_TABLE or key.startswith(PASSED_PREFIXES)


def unknown_key(key: str) -> str:
    """The error for an unknown key, with the closest known one."""
    if is_removed(key):
        return f"{key} is a key of Kafka 3 that Kafka 4 no longer has: remove it"
    if key in OF_CLIENTS:
        return f"{key} is a key of producers, consumers or admin clients, not of a broker: remove it"
    meant = difflib.get_close_matches(key, server_keys(), n=1, cutoff=0.6)
    return f"Unknown key {key}" + (f": did you mean {meant[0]}?" if meant else ": Apache Kafka 4.4.0 has no such key")
