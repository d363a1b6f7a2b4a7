"""How a client proves who it is and checks the broker: TLS, SASL, their settings. Kafka: ``security``, ``sasl``.

Imported only by clients that are configured for it.
"""
