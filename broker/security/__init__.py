"""TLS and SASL as the broker's configuration wants them, for listeners and for its own connections to other nodes.

Also which connections may ask for delegation tokens. The rules of SASL itself are in ``authentication/``, those of TLS
contexts in ``protocol/security/``. Kafka: ``ChannelBuilders``, ``SslFactory``, ``LoginManager``.
"""
