"""TLS, SASL and ACLs as the broker's configuration asks for them: for listeners, and for connections to other nodes.

``tls`` (listeners and their certificates), ``authentication`` (SASL), ``authorization`` (ACLs). What the client uses
too is in ``protocol/security/``. Kafka: ``ChannelBuilders``, ``SslFactory``, ``LoginManager``, ``StandardAuthorizer``.
"""
