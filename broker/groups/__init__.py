"""Groups of the classic protocol and their members: the core. Pure but for log lines: no socket, task, file or clock.

A handler takes a request and the time and leaves what is to happen in :class:`.effects.Effects`: records to append,
replies, timers. What is durable changes in :meth:`..group_core.core.GroupCore.replay` alone, for loading and serving
alike. Records, events and configuration of groups of any kind are here too, because here nothing else is imported.
"""
