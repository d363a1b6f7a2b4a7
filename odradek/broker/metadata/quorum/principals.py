"""The principal of a client, as an Envelope carries it to the controllers.

Pure. Owns: the encoding. Source: KIP-590; ``DefaultKafkaPrincipalBuilder.serialize``.
"""

from functools import lru_cache

from odradek.protocol.codec import encode
from odradek.protocol.messages.security import DefaultPrincipalData

VERSION = 0
CACHED = 256
"""The number of cached principals: few change metadata."""


@lru_cache(CACHED)
def serialized(principal: str, by_token: bool) -> bytes:
    """The bytes of a principal ``Type:name``: the version, then DefaultPrincipalData.

    ``by_token``: the client was authenticated with a delegation token, and may not create another one.
    """
    kind, _, name = principal.partition(":")
    return VERSION.to_bytes(2, "big") + encode(DefaultPrincipalData(kind, name, by_token), VERSION)
