"""The first message of an OAUTHBEARER client, also one that our client never sends: with an authorization id."""

from odradek.protocol.security.oauthbearer import SEPARATOR, ClientInitial


def encode_client_initial(message: ClientInitial) -> bytes:
    """The message's bytes. It does not check the extensions."""
    name = f"a={message.authorization_id}" if message.authorization_id else ""
    pairs = [f"auth=Bearer {message.token}", *(f"{key}={value}" for key, value in message.extensions.items())]
    return f"n,{name},{SEPARATOR}{SEPARATOR.join(pairs)}{SEPARATOR}{SEPARATOR}".encode()
