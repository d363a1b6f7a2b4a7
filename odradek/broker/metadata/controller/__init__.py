"""Decisions that change metadata: an image and a request go in, records and a response come out.

Pure. Kafka: ``QuorumController`` and its managers.
"""
