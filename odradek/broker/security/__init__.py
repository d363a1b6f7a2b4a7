"""Sets up TLS and SASL from the broker's configuration: for listeners, and for connections to other nodes.

Also decides which connections may send delegation token requests. The SASL mechanisms are in ``authentication/``, TLS
contexts in ``protocol/security/``. Kafka: ``ChannelBuilders``, ``SslFactory``, ``LoginManager``.
"""
