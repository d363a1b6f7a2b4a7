"""Delegation tokens as the metadata log has them: without their HMACs, which it never holds.

Pure. Source: ``TokenInformation``, ``DelegationTokenImage``; KIP-48, KIP-900.
"""

from typing import NamedTuple


class DelegationToken(NamedTuple):
    """One token. Principals are ``Type:name``. Times are ms since the epoch; a token is valid through its expiry."""

    token_id: str
    owner: str
    """The principal of clients that log in with the token."""
    requester: str
    """The principal that created it."""
    renewers: tuple[str, ...]
    """Principals that may renew and expire it, besides the owner."""
    issue_ms: int
    max_ms: int
    """The last moment to which it can be renewed."""
    expiry_ms: int

    def is_expired(self, now_ms: int) -> bool:
        """Whether it has lost its validity."""
        return self.max_ms < now_ms or self.expiry_ms < now_ms

    def may_be_renewed_by(self, principal: str) -> bool:
        """Whether this principal may renew and expire it."""
        return principal == self.owner or principal in self.renewers

    def concerns(self, principal: str) -> bool:
        """Whether this principal sees it without an ACL (``TokenInformation.ownerOrRenewer``)."""
        return principal == self.requester or self.may_be_renewed_by(principal)
