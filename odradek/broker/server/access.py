"""What the metadata says of access, as this broker checks it: ACLs, delegation tokens, SCRAM users.

Owns: the order in which changes of the metadata are applied to them. Never does: deciding. What no configuration asks
for is None and is not imported. Source: ``AclPublisher``, ``DelegationTokenPublisher``, ``ScramPublisher``.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from odradek.protocol.common.holder import holder
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.storage.directory.log_directories import LogDirectories

from ..config.authorizer import authorizer_settings
from ..config.server_config import ServerConfig
from ..metadata.image.image import MetadataDelta, MetadataImage

with lazy_imports:
    from ..metadata.image import token_hmacs as image_token_hmacs
    from ..security.authentication import scram_decoys as authentication_scram_decoys
    from ..security.authorization import standard_authorizer
    from . import scram_secret

if TYPE_CHECKING:
    from ..metadata.image.token_hmacs import TokenHmacs
    from ..security.authentication.scram_decoys import ScramDecoys
    from ..security.authorization.standard_authorizer import StandardAuthorizer

SECRET_KEY = "delegation.token.secret.key"
APPLIED_A_STEP = 64
"""The ACLs or SCRAM credentials that are applied in one step: 5 to 15 us each."""
Key = TypeVar("Key")


@holder(kw_only=True)
class AccessRules:
    """``authorizer`` decides what clients may do; None if they may do everything. ``token_hmacs``: the HMACs of the
    delegation tokens; None if tokens are disabled. ``scram_decoys``: made-up SCRAM credentials for unknown users; None
    if no listener uses SASL.
    """

    authorizer: "StandardAuthorizer | None"
    token_hmacs: "TokenHmacs | None"
    scram_decoys: "ScramDecoys | None"

    def load(self, image: MetadataImage) -> None:
        """Applies all of the image, before the first connection: 5 us for each ACL, 3 us for each token."""
        if self.authorizer is not None:
            self.authorizer.update(image.acls, image.acls)
        if self.token_hmacs is not None:
            self.token_hmacs.update(image.delegation_tokens, image.delegation_tokens)
        if self.scram_decoys is not None:
            self.scram_decoys.update(image.scram_credentials, image.scram_credentials)

    def changed(self, image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        """Applies a change, in steps."""
        if self.authorizer is not None and delta.changed_acls:
            for acls in _batches(delta.changed_acls):  # as in Kafka, each ACL counts as soon as it is there
                self.authorizer.update(image.acls, acls)
                yield
        if self.token_hmacs is not None and delta.changed_tokens:
            self.token_hmacs.update(image.delegation_tokens, delta.changed_tokens)
        if self.scram_decoys is not None and delta.changed_scram:
            for users in _batches(delta.changed_scram):
                self.scram_decoys.update(image.scram_credentials, users)
                yield


def access_of(config: ServerConfig, log_dirs: LogDirectories) -> AccessRules:
    """What this configuration asks for, without ACLs, tokens and users yet (:meth:`AccessRules.load`)."""
    authorizer, token_hmacs, scram_decoys = None, None, None
    settings = authorizer_settings(config)
    secret_key = config[SECRET_KEY]
    if settings is not None:
        authorizer = standard_authorizer.StandardAuthorizer(settings.super_users, settings.allow_if_no_acl)
    if secret_key:
        token_hmacs = image_token_hmacs.TokenHmacs(secret_key)
    if config.has_sasl:
        scram_decoys = authentication_scram_decoys.ScramDecoys(scram_secret.scram_secret(secret_key, log_dirs.metadata))
    return AccessRules(authorizer=authorizer, token_hmacs=token_hmacs, scram_decoys=scram_decoys)


def _batches(keys: Iterable[Key]) -> Iterator[list[Key]]:
    left = iter(keys)
    while some := list(islice(left, APPLIED_A_STEP)):
        yield some
