"""Decides which operations a principal may do, by the rules of Kafka's StandardAuthorizer.

Pure. Owns: the ACLs, two indexes of them, a bounded cache of decisions. Never does: I/O, logging, knowing an API.
Invariant: a matching DENY takes precedence over any ALLOW; a decision depends only on the ACLs, the configuration
(super users, ``allow.everyone.if.no.acl.found``) and the question; every text of an IP address is the same host, and a
host with a slash is a range of addresses (an ACL whose range is malformed concerns no client).
Source: ``StandardAuthorizer``, ``StandardAuthorizerData``, ``Authorizer.authorizeByResourceType``; KIP-11, KIP-679.

A decision for one resource is a bit field of all operations (:meth:`StandardAuthorizer.allowed`). It costs about 4 us,
and 0.2 us from the cache. A decision for a resource type looks only at the ACLs of that principal, host and operation.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from odradek.protocol.security.acl import ANY_USER, WILDCARD, Acl, AclOperation, AclPermission, PatternType
from odradek.protocol.security.canonical_host import canonical_host
from odradek.protocol.security.host_range import SLASH, HostRange

HARD_CODED_NAME = "hardcode"
"""The resource name that :meth:`StandardAuthorizer.allows_any` checks first. Kafka uses the same."""
CACHED_DECISIONS = 10_000
"""The most decisions in the cache. A full cache is emptied, as clients could fill it with names."""
EVERYTHING = sum(1 << operation for operation in AclOperation if operation > AclOperation.ANY)
"""The bits of all operations."""
_IMPLIED_BY_ALLOW: dict[int, int] = {
    AclOperation.READ: 1 << AclOperation.DESCRIBE,
    AclOperation.WRITE: 1 << AclOperation.DESCRIBE,
    AclOperation.DELETE: 1 << AclOperation.DESCRIBE,
    AclOperation.ALTER: 1 << AclOperation.DESCRIBE,
    AclOperation.ALTER_CONFIGS: 1 << AclOperation.DESCRIBE_CONFIGS,
}

_Named = dict[tuple[int, str], dict[bytes, Acl]]
"""The ACLs by the type and the name of their patterns, then by their ids."""

_Concern = tuple[int, str, str, int, int]
"""A resource type, principal, host, operation and permission."""


class _UsedRange:
    """A range of hosts, and the number of ACLs that have it."""

    __slots__ = ("acls", "hosts")

    def __init__(self, hosts: HostRange) -> None:
        self.hosts = hosts
        self.acls = 1


class StandardAuthorizer:
    """The ACLs of a cluster and the decisions that follow from them."""

    def __init__(self, super_users: Iterable[str] = (), allow_if_no_acl: bool = False) -> None:
        """``super_users``: principals that may do everything. ``allow_if_no_acl``: whether everything is allowed on a
        resource that no ACL matches (``allow.everyone.if.no.acl.found``). ACLs of any principal count as a match."""
        self._super_users = frozenset(super_users)
        self._allow_if_no_acl = allow_if_no_acl
        self._literal: _Named = {}
        self._prefixed: _Named = {}
        self._prefix_lengths: dict[int, dict[int, int]] = {}
        """Resource type -> length of a prefix -> number of prefixes that have it."""
        self._concerning: dict[_Concern, dict[bytes, Acl]] = {}
        """The ACLs with a pattern that Kafka knows, by what they concern, then by their ids."""
        self._cache: dict[tuple[str, str, int, str], int] = {}
        self._any_cache: dict[tuple[str, str, int, int], bool] = {}
        self.changes = 0
        """How often ACLs have changed."""
        self._by_id: dict[bytes, Acl] = {}
        """With hosts in their canonical form."""
        self._ranges: dict[str, _UsedRange] = {}
        """The hosts of ACLs that are ranges, parsed."""

    def update(self, acls: Mapping[bytes, Acl], changed: Iterable[bytes]) -> None:
        """Takes over changed ACLs. ``acls``: all current ACLs by id. ``changed``: ids of added and removed ones."""
        self._cache.clear()
        self._any_cache.clear()
        self.changes += 1
        for acl_id in changed:
            old = self._by_id.pop(acl_id, None)
            if old is not None:
                self._remove(acl_id, old)
                self._drop_host(old.host)
            new = acls.get(acl_id)
            if new is not None:
                new = self._by_id[acl_id] = new._replace(host=self._take_host(new.host))
                self._add(acl_id, new)

    def _take_host(self, text: str) -> str:
        """The host of a new ACL in its canonical form. Parses it if it is a range."""
        if SLASH not in text:
            return canonical_host(text)
        known = self._ranges.get(text)
        if known is not None:
            known.acls += 1
            return text
        with suppress(ValueError):  # an ACL from before metadata.version 4.4-IV1 may have any text
            self._ranges[text] = _UsedRange(HostRange.parse(text))
        return text

    def _drop_host(self, host: str) -> None:
        """Forgets a range with its last ACL."""
        known = self._ranges.get(host)
        if known is not None:
            known.acls -= 1
            if not known.acls:
                del self._ranges[host]

    def _add(self, acl_id: bytes, acl: Acl) -> None:
        pattern = acl.resource_type, acl.resource_name
        if acl.pattern_type in (PatternType.LITERAL, PatternType.PREFIXED):
            self._concerning.setdefault(_concern(acl), {})[acl_id] = acl
        if acl.pattern_type == PatternType.LITERAL:
            self._literal.setdefault(pattern, {})[acl_id] = acl
        elif acl.pattern_type == PatternType.PREFIXED:
            if pattern not in self._prefixed:
                self._prefixed[pattern] = {}
                lengths = self._prefix_lengths.setdefault(acl.resource_type, {})
                lengths[len(acl.resource_name)] = lengths.get(len(acl.resource_name), 0) + 1
            self._prefixed[pattern][acl_id] = acl

    def _remove(self, acl_id: bytes, acl: Acl) -> None:
        concerning = self._concerning.get(_concern(acl))
        if concerning is not None and concerning.pop(acl_id, None) is not None and not concerning:
            del self._concerning[_concern(acl)]
        named = self._literal if acl.pattern_type == PatternType.LITERAL else self._prefixed
        pattern = acl.resource_type, acl.resource_name
        acls = named.get(pattern)
        if acls is None or acls.pop(acl_id, None) is None or acls:
            return
        del named[pattern]
        if named is self._prefixed:
            lengths = self._prefix_lengths[acl.resource_type]
            lengths[len(acl.resource_name)] -= 1
            if not lengths[len(acl.resource_name)]:
                del lengths[len(acl.resource_name)]

    def allows(self, principal: str, host: str, operation: int, resource_type: int, name: str) -> bool:
        """Whether a principal at a host (an IP address) may do an operation on one resource."""
        return bool(self.allowed(principal, host, resource_type, name) >> operation & 1)

    def allowed(self, principal: str, host: str, resource_type: int, name: str) -> int:
        """The operations that a principal may do on one resource: bit n is operation n."""
        question = principal, host, resource_type, name
        decision = self._cache.get(question)
        if decision is None:
            if len(self._cache) >= CACHED_DECISIONS:
                self._cache.clear()
            decision = self._cache[question] = self._decide(principal, host, resource_type, name)
        return decision

    def _decide(self, principal: str, host: str, resource_type: int, name: str) -> int:
        if principal in self._super_users:
            return EVERYTHING
        host = canonical_host(host)
        allowed = denied = 0
        has_acl = False
        for acls in self._matching(resource_type, name):
            has_acl = True
            for acl in acls.values():
                if not self._concerns(acl, principal, host):
                    continue
                if acl.permission == AclPermission.DENY:
                    denied |= _bits(acl.operation)
                elif acl.permission == AclPermission.ALLOW:
                    allowed |= _bits(acl.operation) | _IMPLIED_BY_ALLOW.get(acl.operation, 0)
        if not has_acl:
            return EVERYTHING if self._allow_if_no_acl else 0
        return allowed & ~denied

    def _concerns(self, acl: Acl, principal: str, host: str) -> bool:
        """Whether an ACL applies to this principal at this host."""
        if acl.principal not in (principal, ANY_USER):
            return False
        return acl.host in (host, WILDCARD) or (
            acl.host in self._ranges and self._ranges[acl.host].hosts.contains(host)
        )

    def _matching(self, resource_type: int, name: str) -> Iterator[dict[bytes, Acl]]:
        """The ACLs that match a resource: for each matching pattern, its ACLs by id."""
        for literal in {name, WILDCARD}:
            if acls := self._literal.get((resource_type, literal)):
                yield acls
        for length in self._prefix_lengths.get(resource_type, ()):
            if length <= len(name) and (acls := self._prefixed.get((resource_type, name[:length]))):
                yield acls

    def allows_any(self, principal: str, host: str, operation: int, resource_type: int) -> bool:
        """Whether a principal may do an operation on at least one resource of a type (KIP-679).

        As in Kafka, an operation that is only implied by another (DESCRIBE by READ) does not count.
        """
        question = principal, host, operation, resource_type
        decision = self._any_cache.get(question)
        if decision is None:
            if len(self._any_cache) >= CACHED_DECISIONS:
                self._any_cache.clear()
            decision = self._any_cache[question] = self._decide_any(principal, host, operation, resource_type)
        return decision

    def _decide_any(self, principal: str, host: str, operation: int, resource_type: int) -> bool:
        if self.allows(principal, host, operation, resource_type, HARD_CODED_NAME):
            return True
        asker = principal, canonical_host(host), operation, resource_type
        denied = {_pattern(acl) for acl in self._acls_of(*asker, AclPermission.DENY)}
        if (PatternType.LITERAL, WILDCARD) in denied:
            return False
        allowing = self._acls_of(*asker, AclPermission.ALLOW)
        return any(not _is_dominated(_pattern(acl), denied) for acl in allowing)

    def _acls_of(self, principal: str, host: str, operation: int, resource_type: int, permission: int) -> Iterator[Acl]:
        """The ACLs with this permission that concern the question, for any resource of the type."""
        operations = {operation, AclOperation.ALL} if EVERYTHING >> operation & 1 else ()
        hosts = {host, WILDCARD, *(text for text, used in self._ranges.items() if used.hosts.contains(host))}
        for each in operations:
            for of_principal in {principal, ANY_USER}:
                for of_host in hosts:
                    yield from self._concerning.get(
                        (resource_type, of_principal, of_host, each, permission), {}
                    ).values()


def _concern(acl: Acl) -> _Concern:
    return acl.resource_type, acl.principal, acl.host, acl.operation, acl.permission


def _pattern(acl: Acl) -> tuple[int, str]:
    return acl.pattern_type, acl.resource_name


def _bits(operation: int) -> int:
    if operation == AclOperation.ALL:
        return EVERYTHING
    return 1 << operation & EVERYTHING if operation > AclOperation.ALL else 0


def _is_dominated(pattern: tuple[int, str], denied: set[tuple[int, str]]) -> bool:
    """Whether DENY ACLs cover the whole pattern of an ALLOW ACL, by Kafka's rule."""
    pattern_type, name = pattern
    if pattern == (PatternType.LITERAL, WILDCARD):
        return False
    if pattern_type == PatternType.LITERAL and pattern in denied:
        return True
    return any((PatternType.PREFIXED, name[:length]) in denied for length in range(1, len(name) + 1))
