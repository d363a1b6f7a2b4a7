"""TLS and SASL of listeners and of this broker's own connections; rules about tokens. Kafka: ``ChannelBuilders``, ``SslFactory``."""
