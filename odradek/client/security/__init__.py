"""A client's TLS and SASL authentication, and their settings. Kafka: ``common.security``.

Imported only by clients that are configured for it.
"""
