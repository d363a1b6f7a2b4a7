"""A page in the browser that shows a Kafka cluster and changes it: ``odradek console``.

A process of its own, with this project's client. Kafka has no counterpart.
"""
