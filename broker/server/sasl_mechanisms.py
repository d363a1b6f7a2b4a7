"""The mechanisms of a SASL listener, by its settings.

Owns: which name starts which exchange. Never does: authenticating. A new mechanism gets an entry here, and its login
module one in ``config/sasl.py``. Source: ``SaslChannelBuilder``.
"""

from collections.abc import Callable
from functools import partial

from ...protocol.security import scram
from ..authentication.mechanism import Mechanisms, SaslExchange
from ..authentication.plain import PlainExchange
from ..authentication.scram import ScramExchange
from ..config.sasl import ListenerSasl
from ..metadata.image import MetadataImage
from .scram_accounts import ImageAccounts, random_text


def mechanisms_of(settings: ListenerSasl, image: Callable[[], MetadataImage]) -> Mechanisms:
    """The enabled mechanisms of a listener, by name. ``image`` returns the present metadata."""
    made: dict[str, Callable[[], SaslExchange]] = {}
    for one in settings.mechanisms:
        if one.name == "PLAIN":
            made[one.name] = partial(PlainExchange, one.passwords())
        else:
            mechanism = scram.MECHANISMS[one.name]
            made[one.name] = partial(ScramExchange, mechanism, ImageAccounts(mechanism, image), random_text)
    return made
