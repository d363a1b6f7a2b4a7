"""Fetch: sessions, one read pass, the long poll, old formats. Kafka: ``FetchSession``, ``DelayedFetch``."""
