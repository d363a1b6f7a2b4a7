"""TLS between two contexts in memory: no socket, no thread."""

import ssl
from collections.abc import Callable


class End:
    """One side of a TLS connection in memory."""

    def __init__(self, context: ssl.SSLContext, server_name: str | None = None) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.object = context.wrap_bio(
            self.incoming, self.outgoing, server_side=server_name is None, server_hostname=server_name or None
        )
        self.is_done = False

    def step(self) -> bytes:
        """Continues the handshake as far as the received bytes allow. Returns the bytes to send."""
        if not self.is_done:
            self._try(self.object.do_handshake)
        return self.outgoing.read()

    def _try(self, operation: Callable[[], object]) -> None:
        try:
            operation()
            self.is_done = True
        except ssl.SSLWantReadError:
            pass


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str = "localhost") -> tuple[End, End]:
    """Runs a handshake; returns (server, client). Raises the errors of the sides, the client's first."""
    one, other = End(client, name), End(server)
    for _ in range(6):
        other.incoming.write(one.step())
        one.incoming.write(other.step())
    assert one.is_done
    assert other.is_done
    return other, one
