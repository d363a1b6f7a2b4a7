"""``odradek storage``: maps each of its commands to the function that runs it, as ``odradek`` itself does.

Imports only the module of the command. Commands that need configurations or metadata are in the broker; those about
features are commands of the client that need no connection; those about snapshots are jobs of the pipeline.
"""

import sys
from importlib import import_module

from odradek.protocol.common.lazy_imports import lazy_imports

with lazy_imports:
    import difflib

COMMANDS: dict[str, tuple[str, str]] = {
    "format": (
        "odradek.broker.storage_tool.format:format_directories",
        "format the log directories of a configuration",
    ),
    "random-uuid": ("odradek.broker.storage_tool.format:random_uuid", "print a random id for a cluster or directory"),
    "info": ("odradek.broker.storage_tool.info:info", "show whether the directories are formatted, and their ids"),
    "version-mapping": (
        "odradek.client.commands.features:version_mapping_command",
        "show the levels of all features in a release",
    ),
    "feature-dependencies": (
        "odradek.client.commands.features:feature_dependencies_command",
        "show which levels of other features a level needs",
    ),
    "check": ("odradek.storage.check.command:check", "verify every file; nothing is changed"),
    "repair": (
        "odradek.broker.storage_tool.repair:repair",
        "repair damage as a start does; --dry-run only reports",
    ),
    "snapshot": (
        "odradek.pipeline.snapshot.command:snapshot",
        "save the directories of a running broker, as they are at one instant",
    ),
    "restore": ("odradek.pipeline.snapshot.command:restore_command", "make log directories from a snapshot"),
    "explain": ("odradek.broker.storage_tool.explain:explain", "show what each topic retains, why, and until when"),
    "adopt": (
        "odradek.broker.storage_tool.adopt.command:adopt",
        "serve the disks of a dead broker without its metadata",
    ),
    "add-topics": (
        "odradek.broker.storage_tool.adopt.addition_command:add_topics_command",
        "add topics to the metadata for partitions that were copied into a directory",
    ),
}
"""Command name -> (``module:function``, one line of help)."""


def usage() -> str:
    """The text of ``odradek storage --help``."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {about}" for name, (_, about) in COMMANDS.items()]
    return "\n".join(
        ["usage: odradek storage COMMAND [ARGUMENTS]", "", "commands:", *lines, "", "odradek storage COMMAND --help"]
    )


def storage(arguments: list[str]) -> int:
    """Runs the command named by the first argument. Returns its exit code (2 for wrong usage)."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if arguments else 2
    if arguments[0] not in COMMANDS:
        meant = difflib.get_close_matches(arguments[0], COMMANDS, n=1)
        hint = f" Did you mean '{meant[0]}'?" if meant else ""
        print(f"odradek storage: unknown command '{arguments[0]}'.{hint}\n\n{usage()}", file=sys.stderr)
        return 2
    module, _, function = COMMANDS[arguments[0]][0].partition(":")
    return int(getattr(import_module(module), function)(arguments[1:]) or 0)
