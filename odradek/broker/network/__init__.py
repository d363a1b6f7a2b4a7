"""Sockets and connections: accept, limit, read, send. Kafka: ``SocketServer``, ``ConnectionQuotas``."""
