"""Decodes frames into requests, calls their handlers, encodes the responses (``RequestChannel``, ``KafkaApis``)."""
