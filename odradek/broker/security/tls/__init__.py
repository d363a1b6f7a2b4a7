"""TLS of listeners and of the metrics endpoint: certificates, handshakes, records. Kafka: ``SslTransportLayer``."""
