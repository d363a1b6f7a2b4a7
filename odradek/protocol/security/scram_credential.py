"""The SCRAM credential that a broker stores. Pure: a module of its own, since each broker needs it at its start."""

from typing import NamedTuple


class ScramCredential(NamedTuple):
    """What a server stores of a password (``ScramCredential``)."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations})"
