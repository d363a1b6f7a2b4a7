"""Decisions that change metadata: an image and a request in, records and a response out.

Pure. Kafka: ``QuorumController`` and its managers.
"""
