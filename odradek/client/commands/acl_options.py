"""Converts the options of ``odradek acls`` to ACLs, and checks the combinations that Kafka's script refuses.

Pure. Source: ``AclCommand.getResourceFilterToAcls``, ``AclCommandOptions.checkArgs``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import click

from odradek.protocol.common.command_options import flag, included, option, repeated

from ..admin.acl_types import (
    ANY_HOST,
    CLUSTER_NAME,
    OPERATIONS_OF,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from .node_options import NodeOptions
from .running import exactly_one, json_option, timeout_option

AclsByResource = dict[ResourcePattern, list[AclEntry]]
"""Resource -> the ACLs to add or remove. An empty list means all ACLs of the resource."""
PATTERN_TYPES = [kind.name.lower() for kind in PatternType if kind != PatternType.UNKNOWN]
CLUSTER = ResourcePattern(AclResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
NO_PRINCIPAL = "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
NO_RESOURCE = (
    "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or "
    "--delegation-token <Delegation Token ID>"
)
PRODUCER_ON_TOPIC = (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE)
PRODUCER_ON_TRANSACTIONAL_ID = (AclOperation.WRITE, AclOperation.DESCRIBE)
CONSUMER_ON_TOPIC = (AclOperation.READ, AclOperation.DESCRIBE)


def operation_names() -> list[str]:
    """``All``, ``DescribeConfigs`` ...: the operations that an ACL can have."""
    concrete = [operation for operation in AclOperation if operation not in (AclOperation.UNKNOWN, AclOperation.ANY)]
    return [operation.name.title().replace("_", "") for operation in concrete]


class WrongUsageError(ValueError):
    """Options that Kafka's script refuses; the message is Kafka's."""


@dataclass(frozen=True, kw_only=True)
class AclOptions:
    """The arguments of ``odradek acls``."""

    nodes: NodeOptions = included(NodeOptions)
    add: bool = flag("--add", help="Add ACLs.")
    remove: bool = flag("--remove", help="Remove ACLs; without a principal all of the named resources.")
    list_: bool = flag("--list", help="List ACLs: those of the named resources, or all.")
    topic: tuple[str, ...] = repeated("--topic", metavar="NAME", help="A topic; '*' for all.")
    group: tuple[str, ...] = repeated("--group", metavar="NAME", help="A consumer group; '*' for all.")
    cluster: bool = flag("--cluster", help="The cluster.")
    transactional_id: tuple[str, ...] = repeated(
        "--transactional-id", metavar="ID", help="A transactional id; '*' for all."
    )
    delegation_token: tuple[str, ...] = repeated(
        "--delegation-token", metavar="ID", help="The id of a delegation token; '*' for all."
    )
    user_principal: tuple[str, ...] = repeated(
        "--user-principal", metavar="TYPE:NAME", help="A user whose tokens are created or described."
    )
    resource_pattern_type: str = option(
        "--resource-pattern-type",
        type=click.Choice(PATTERN_TYPES, case_sensitive=False),
        default="literal",
        show_default=True,
        help="How a name matches resources. any and match are for --list and --remove; match finds all ACLs that "
        "affect the named resource.",
    )
    operation: tuple[str, ...] = repeated(
        "--operation", metavar="NAME", help=f"An operation; default All. One of {', '.join(operation_names())}."
    )
    allow_principal: tuple[str, ...] = repeated(
        "--allow-principal", metavar="TYPE:NAME", help="Who is allowed: User:alice; User:* for everyone."
    )
    deny_principal: tuple[str, ...] = repeated(
        "--deny-principal", metavar="TYPE:NAME", help="Who is denied; takes precedence over --allow-principal."
    )
    allow_host: tuple[str, ...] = repeated(
        "--allow-host", metavar="ADDRESS", help="The host from which --allow-principal is allowed; default *."
    )
    deny_host: tuple[str, ...] = repeated(
        "--deny-host", metavar="ADDRESS", help="The host from which --deny-principal is denied; default *."
    )
    principal: tuple[str, ...] = repeated(
        "--principal", metavar="TYPE:NAME", help="With --list: only ACLs of this principal."
    )
    producer: bool = flag("--producer", help="The ACLs of a producer: Write, Describe, Create on the topic.")
    consumer: bool = flag("--consumer", help="The ACLs of a consumer: Read, Describe on the topic, Read on the group.")
    idempotent: bool = flag(
        "--idempotent", help="With --producer: also IdempotentWrite on the cluster, for old brokers."
    )
    force: bool = flag("--force", help="Remove without asking.")
    timeout_ms: int = timeout_option()
    as_json: bool = json_option()

    @property
    def action(self) -> str:
        """The name of the one action that was given. Raises UsageError if none or several were given."""
        return exactly_one({"list": self.list_, "add": self.add, "remove": self.remove})

    @property
    def pattern_type(self) -> PatternType:
        """How a name matches resources."""
        return PatternType[self.resource_pattern_type.upper()]


def check_options(options: AclOptions) -> None:
    """Raises WrongUsageError for a combination that Kafka's script refuses."""
    refused: dict[str, tuple[str, ...]] = {
        "list": ("producer", "consumer", "allow_host", "allow_principal", "deny_host", "deny_principal"),
        "producer": ("operation", "deny_principal", "deny_host"),
        "consumer": ("operation", "deny_principal", "deny_host"),
    }
    for used, others in refused.items():
        if options.action != used and not getattr(options, used, False):
            continue
        for other in others:
            if getattr(options, other):
                raise WrongUsageError(f'Option "[{used}]" can\'t be used with option "[{other.replace("_", "-")}]"')
    if options.principal and options.action != "list":
        raise WrongUsageError("The --principal option is only available if --list is set")
    if options.producer and not options.topic:
        raise WrongUsageError("With --producer you must specify a --topic")
    if options.idempotent and not options.producer:
        raise WrongUsageError("The --idempotent option is only available if --producer is set")
    others_resources = not options.producer and (options.cluster or options.transactional_id)
    if options.consumer and (not options.topic or not options.group or others_resources):
        raise WrongUsageError(
            "With --consumer you must specify a --topic and a --group and no --cluster or --transactional-id "
            "option should be specified."
        )


def named_resources(options: AclOptions) -> list[ResourcePattern]:
    """The resources that the options name, each once."""
    named = {
        AclResourceType.TOPIC: options.topic,
        AclResourceType.GROUP: options.group,
        AclResourceType.TRANSACTIONAL_ID: options.transactional_id,
        AclResourceType.DELEGATION_TOKEN: options.delegation_token,
        AclResourceType.USER: options.user_principal,
    }
    found = [
        ResourcePattern(kind, name if kind == AclResourceType.TRANSACTIONAL_ID else name.strip(), options.pattern_type)
        for kind, names in named.items()
        for name in names
    ]
    if options.pattern_type == PatternType.LITERAL and (options.cluster or options.idempotent):
        found.append(CLUSTER)
    return list(dict.fromkeys(found))


def acls_of_options(options: AclOptions) -> AclsByResource:
    """The ACLs to add or remove, by resource. Raises WrongUsageError."""
    resources = named_resources(options)
    if not resources:
        raise WrongUsageError(NO_RESOURCE)
    acls: AclsByResource = {}
    if not options.producer and not options.consumer:
        operations = [operation_named(name) for name in options.operation or ("All",)]
        acls = {resource: _entries(options, operations) for resource in resources}
    if options.producer:
        acls.update(_of_types(options, resources, AclResourceType.TOPIC, PRODUCER_ON_TOPIC))
        on_ids = _of_types(options, resources, AclResourceType.TRANSACTIONAL_ID, PRODUCER_ON_TRANSACTIONAL_ID)
        acls.update(on_ids)
        if options.idempotent:
            acls[CLUSTER] = _entries(options, [AclOperation.IDEMPOTENT_WRITE])
    if options.consumer:
        added = _of_types(options, resources, AclResourceType.TOPIC, CONSUMER_ON_TOPIC)
        added.update(_of_types(options, resources, AclResourceType.GROUP, (AclOperation.READ,)))
        for resource, entries in added.items():
            acls[resource] = list(dict.fromkeys([*acls.get(resource, []), *entries]))
    _check_operations(acls)
    return acls


def acls_to_add(options: AclOptions) -> AclsByResource:
    """The ACLs to add, by resource. Raises WrongUsageError."""
    if options.pattern_type in (PatternType.ANY, PatternType.MATCH):
        raise WrongUsageError(
            f"A '--resource-pattern-type' value of '{options.pattern_type.name}' is not valid when adding acls."
        )
    acls = acls_of_options(options)
    if not all(acls.values()):
        raise WrongUsageError(NO_PRINCIPAL)
    return acls


def operation_named(name: str) -> AclOperation:
    """The operation of a name such as ``DescribeConfigs``, in upper or lower case. Raises WrongUsageError."""
    acls = name.strip().replace("_", "").upper()
    for operation in AclOperation:
        if operation.name.replace("_", "") == acls and operation != AclOperation.UNKNOWN:
            return operation
    raise WrongUsageError(f"Unknown operation '{name}'; it can be {', '.join(operation_names())}")


def principal_named(text: str) -> str:
    """Checks a principal such as ``User:alice``. Raises WrongUsageError if it has no type
    (``SecurityUtils.parseKafkaPrincipal``)."""
    if ":" not in text:
        raise WrongUsageError(f"expected a string in format principalType:principalName but got {text}")
    return text.strip()


def _of_types(
    options: AclOptions, resources: Iterable[ResourcePattern], kind: AclResourceType, operations: Iterable[AclOperation]
) -> AclsByResource:
    entries = _entries(options, operations)
    return {resource: list(entries) for resource in resources if resource.resource_type == kind}


def _entries(options: AclOptions, operations: Iterable[AclOperation]) -> list[AclEntry]:
    allowed = _hosts(options.allow_host, options.allow_principal)
    denied = _hosts(options.deny_host, options.deny_principal)
    acls = list(operations)
    entries = [
        AclEntry(principal_named(principal), host, operation, permission)
        for principals, hosts, permission in (
            (options.allow_principal, allowed, AclPermission.ALLOW),
            (options.deny_principal, denied, AclPermission.DENY),
        )
        for principal, operation, host in product(principals, acls, hosts)
    ]
    return list(dict.fromkeys(entries))


def _hosts(hosts: tuple[str, ...], principals: tuple[str, ...]) -> list[str]:
    if hosts:
        return [host.strip() for host in hosts]
    return [ANY_HOST] if principals else []


def _check_operations(acls: AclsByResource) -> None:
    for resource, entries in acls.items():
        valid = [*OPERATIONS_OF[resource.resource_type].split(), "ALL"]
        if any(entry.operation.name not in valid for entry in entries):
            raise WrongUsageError(
                f"AclResourceType {resource.resource_type.name} only supports operations [{', '.join(sorted(valid))}]"
            )
