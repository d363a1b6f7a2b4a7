"""Groups of the classic protocol and their members. Pure but for log lines: no socket, task, file or clock.

Kafka: ``ClassicGroup``.
"""
