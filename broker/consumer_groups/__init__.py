"""Consumer groups of the new protocol (KIP-848): the core. Pure but for log lines: no socket, task, file or clock.

A heartbeat goes in with the time and leaves in :class:`..groups.effects.Effects` what is to happen: records to append,
an answer, timers. What is durable changes in ``replay`` alone. Assignments are the server's, by :mod:`.assignors`.
"""
