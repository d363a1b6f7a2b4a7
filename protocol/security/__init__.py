"""What the broker and the client share of security: TLS contexts, key stores, SASL messages."""
