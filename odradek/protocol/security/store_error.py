"""The error of key stores and trust stores. Pure."""


class StoreError(ValueError):
    """A key store can't be used. The text says what is wrong and at which line or byte, never a secret."""
