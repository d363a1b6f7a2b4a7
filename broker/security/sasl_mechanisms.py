"""The mechanisms of a SASL listener, by its settings.

Owns: which name starts which exchange. Never does: authenticating. A new mechanism gets an entry here, and its login
module one in ``config/sasl.py``. Source: ``SaslChannelBuilder``.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ...protocol.security import scram
from ..authentication.mechanism import Mechanisms, SaslExchange
from ..authentication.plain import PlainExchange
from ..authentication.scram import ScramExchange
from ..config.sasl import ListenerSasl
from ..metadata.image import MetadataImage
from .scram_accounts import ImageAccounts, random_text

if TYPE_CHECKING:
    from ..metadata.token_hmacs import TokenHmacs


def mechanisms_of(
    settings: ListenerSasl,
    image: Callable[[], MetadataImage],
    token_hmacs: Callable[[], "TokenHmacs | None"],
) -> Mechanisms:
    """The enabled mechanisms of a listener, by name.

    ``image`` returns the present metadata, ``token_hmacs`` those of its delegation tokens. Raises ConfigError if the
    keys for OAUTHBEARER can't be read.
    """
    made: dict[str, Callable[[], SaslExchange]] = {}
    for one in settings.mechanisms:
        if one.name == "PLAIN":
            made[one.name] = partial(PlainExchange, one.passwords())
        elif one.oauthbearer is not None:
            from ..authentication.oauthbearer import OAuthBearerExchange  # few brokers need it
            from .bearer_tokens import validation_of

            made[one.name] = partial(OAuthBearerExchange, validation_of(one.oauthbearer))
        else:
            mechanism = scram.MECHANISMS[one.name]
            accounts = ImageAccounts(mechanism, image, token_hmacs)
            made[one.name] = partial(ScramExchange, mechanism, accounts, random_text)
    return made
