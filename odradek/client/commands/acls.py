"""``odradek acls``: what ``kafka-acls.sh`` does, with its flags and output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from odradek.protocol.common.command_options import takes
from odradek.protocol.common.lazy_imports import lazy_imports

from ..admin.acl_types import EVERY_ACL, AclBinding, AclEntry, ResourcePattern
from .acl_options import (
    AclOptions,
    AclsByResource,
    WrongUsageError,
    acls_of_options,
    acls_to_add,
    check_options,
    named_resources,
    principal_named,
)
from .kafka_command import KafkaCommand
from .node_options import ask
from .output import print_json
from .running import CommandError, main

with lazy_imports:
    from ..admin import acls as admin_acls

if TYPE_CHECKING:
    from ..admin.acls import AclAdmin


@click.command(
    cls=KafkaCommand,
    help="Add, remove or list access control lists (ACLs).",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(AclOptions)
def command(options: AclOptions) -> int:
    """Checks the options and runs the action."""
    action = options.action
    acls: AclsByResource = {}
    try:
        check_options(options)
        if action != "list":
            acls = acls_to_add(options) if action == "add" else acls_of_options(options)
        principals = [principal_named(text) for text in options.principal]
    except WrongUsageError as error:
        raise click.UsageError(str(error)) from None

    async def work(admin: AclAdmin) -> int:
        if action == "add":
            await add_acls(admin, acls, as_json=options.as_json)
        elif action == "remove":
            await remove_acls(admin, acls, force=options.force, as_json=options.as_json)
        else:
            await list_acls(admin, named_resources(options), principals, as_json=options.as_json)
        return 0

    return ask(options.nodes, options.timeout_ms, _acl_admin, work)


def _acl_admin() -> type[admin_acls.AclAdmin]:
    return admin_acls.AclAdmin


async def add_acls(admin: AclAdmin, acls: AclsByResource, *, as_json: bool) -> None:
    """``--add``: creates the ACLs that do not exist yet."""
    added: list[AclBinding] = []
    for resource, entries in acls.items():
        existing = set(await admin.describe_acls(AclBinding(resource, AclEntry())))
        missing = [AclBinding(resource, entry) for entry in entries]
        for binding in [binding for binding in missing if binding in existing]:
            missing.remove(binding)
            if not as_json:
                click.echo(f"Acl {binding} already exists.")
        if not missing:
            continue
        if not as_json:
            click.echo(f"Adding ACLs for resource `{resource}`: \n {_lines(binding.entry for binding in missing)}\n")
        await admin.create_acls(missing)
        added += missing
    if as_json:
        print_json([acl_document(binding) for binding in added])


async def remove_acls(admin: AclAdmin, acls: AclsByResource, *, force: bool, as_json: bool) -> None:
    """``--remove``: asks the user about each resource first, unless ``force``."""
    removed: list[AclBinding] = []
    for resource, entries in acls.items():
        question = f"Are you sure you want to delete all ACLs for resource filter `{resource}`? (y/n)"
        if entries:
            question = (
                f"Are you sure you want to remove ACLs: \n {_lines(entries)}\n from resource filter `{resource}`? (y/n)"
            )
        if force or confirmed(question):
            removed += await admin.delete_acls([AclBinding(resource, entry) for entry in entries or [AclEntry()]])
    if as_json:
        print_json([acl_document(binding) for binding in removed])


def confirmed(question: str) -> bool:
    """Whether the user answers y. Raises CommandError if standard input has ended."""
    click.echo(question, err=not sys.stdout.isatty())
    answer = sys.stdin.readline()
    if not answer:
        raise CommandError("no answer on standard input; use --force to remove without asking")
    return answer.strip().lower() == "y"


async def list_acls(admin: AclAdmin, resources: list[ResourcePattern], principals: list[str], *, as_json: bool) -> None:
    """``--list``: prints the ACLs of the resources (none: of all). With ``principals``, one list for each of them."""
    found: list[AclBinding] = []
    for binding_filter in [AclBinding(resource, AclEntry()) for resource in resources] or [EVERY_ACL]:
        found += await admin.describe_acls(binding_filter)
    found = list(dict.fromkeys(found))
    if as_json:
        print_json(
            [acl_document(binding) for binding in found if not principals or binding.entry.principal in principals]
        )
        return
    if not principals:
        print_acls(found)
    for principal in dict.fromkeys(principals):
        click.echo(f"ACLs for principal `{principal}`")
        print_acls([binding for binding in found if binding.entry.principal == principal])


def print_acls(bindings: list[AclBinding]) -> None:
    """Prints each resource with its ACLs, in Kafka's format."""
    by_resource: dict[ResourcePattern, list[AclEntry]] = {}
    for resource, entry in bindings:
        by_resource.setdefault(resource, []).append(entry)
    for resource, entries in by_resource.items():
        click.echo(f"Current ACLs for resource `{resource}`:\n{_lines(entries)}\n")


def _lines(entries: Any) -> str:
    return "\n".join(f"\t{entry}" for entry in entries)


def acl_document(binding: AclBinding) -> dict[str, str | None]:
    """An ACL for JSON."""
    (kind, name, pattern_type), (principal, host, operation, permission) = binding
    return {
        "resourceType": kind.name,
        "name": name,
        "patternType": pattern_type.name,
        "principal": principal,
        "host": host,
        "operation": operation.name,
        "permissionType": permission.name,
    }


def acls(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek acls``, returns the exit code."""
    return main(command, "acls", arguments)
