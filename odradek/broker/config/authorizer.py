"""The configuration of the authorizer: its class, the super users, the decision without ACLs.

Owns: these three settings and their checks. Never does: authorizing a request. Source:
``StandardAuthorizer.configure``, ``SecurityUtils.parseKafkaPrincipal``.
"""

from typing import NamedTuple

from .errors import ConfigError
from .typed_values import TypedValues

CLASS_KEY = "authorizer.class.name"
SUPER_USERS_KEY = "super.users"
ALLOW_KEY = "allow.everyone.if.no.acl.found"
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
"""The only authorizer class that is served."""


class AuthorizerSettings(NamedTuple):
    """``super_users`` are principals as ``Type:name``. ``allow_if_no_acl``: whether everyone may use a resource without
    ACLs."""

    super_users: frozenset[str]
    allow_if_no_acl: bool


def authorizer_settings(config: TypedValues) -> AuthorizerSettings | None:
    """The settings, or None if no authorizer is configured. Raises ConfigError."""
    names = [name.strip() for name in config.originals.get(SUPER_USERS_KEY, "").split(";")]
    super_users = frozenset(name for name in names if name)
    problems = [
        f"{SUPER_USERS_KEY} ({config.place_of(SUPER_USERS_KEY)}): {name!r} is not Type:name"
        for name in sorted(super_users)
        if not all(name.partition(":"))
    ]
    allow = config.originals.get(ALLOW_KEY, "false").strip().lower()
    if allow not in ("true", "false"):
        problems.append(f"{ALLOW_KEY} ({config.place_of(ALLOW_KEY)}): {allow!r} is neither true nor false")
    is_configured = bool(config.originals.get(CLASS_KEY, "").strip())
    if problems:
        raise ConfigError(problems)
    if not is_configured:
        return None
    return AuthorizerSettings(super_users, allow == "true")
