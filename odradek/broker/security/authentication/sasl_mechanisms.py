"""Makes the SASL mechanisms that a listener enables.

Owns: the mapping from mechanism names to exchanges. Never does: authenticating. To add a mechanism, add it here and its
login module in ``config/sasl.py``. Source: ``SaslChannelBuilder``.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.security import scram

from ...config.sasl import ListenerSasl, MechanismSettings, file_of_plain_users, plain_users
from ...config.typed_values import TypedValues
from ...metadata.image.image import MetadataImage
from ..reread import Reread
from .mechanism import Mechanisms, SaslExchange
from .plain import PlainExchange
from .scram import ScramExchange
from .scram_accounts import ImageAccounts, random_text
from .scram_decoys import ScramDecoys

with lazy_imports:
    from . import bearer_tokens, oauthbearer

if TYPE_CHECKING:
    from ...metadata.image.token_hmacs import TokenHmacs


def mechanisms_of(
    config: TypedValues,
    listener: str,
    settings: ListenerSasl,
    image: Callable[[], MetadataImage],
    token_hmacs: Callable[[], "TokenHmacs | None"],
    decoys: ScramDecoys,
) -> Mechanisms:
    """The enabled mechanisms of a listener, by name.

    PLAIN users in a JAAS file are read again after the file changed; if it can't be used, the earlier users stay.
    ``config``: the broker's static configuration. ``image`` returns the current metadata image, ``token_hmacs`` the
    HMACs of its delegation tokens. ``decoys``: made-up credentials for unknown users. Raises ConfigError if the keys
    for OAUTHBEARER can't be read.
    """
    made: dict[str, Callable[[], SaslExchange]] = {}
    for enabled in settings.mechanisms:
        if enabled.name == "PLAIN":
            made[enabled.name] = _plain(config, listener, enabled)
        elif enabled.oauthbearer is not None:
            made[enabled.name] = partial(
                oauthbearer.OAuthBearerExchange, bearer_tokens.validation_of(enabled.oauthbearer)
            )
        else:
            mechanism = scram.MECHANISMS[enabled.name]
            accounts = ImageAccounts(mechanism, image, token_hmacs, decoys)
            made[enabled.name] = partial(ScramExchange, mechanism, accounts, random_text)
    return made


def _plain(config: TypedValues, listener: str, settings: MechanismSettings) -> Callable[[], SaslExchange]:
    path = file_of_plain_users(config, listener)
    if path is None:
        return partial(PlainExchange, settings.passwords())
    users = Reread(
        f"the users of PLAIN of the listener {listener}",
        lambda: plain_users(config, listener),
        lambda: (None, [path]),
    )
    return lambda: PlainExchange(users.current())
