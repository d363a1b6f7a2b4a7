"""Consumer groups of the new protocol (KIP-848). Pure but for log lines: no socket, task, file or clock.

A handler takes a heartbeat and the time. It leaves its results in :class:`..effects.GroupEffects`: records to append, a
reply, timers. Durable state changes in ``replay`` alone. The broker computes the assignments (:mod:`.assignors`).
"""
