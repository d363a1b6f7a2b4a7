"""Security code that the broker and the client share: TLS contexts, key stores, SASL messages."""
