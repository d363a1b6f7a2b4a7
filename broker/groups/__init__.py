"""The group coordinator's core: groups and their members. Pure: no socket, task, file or clock.

A handler takes a request and the time and leaves what is to happen in :class:`.effects.Effects`: records to append,
replies, timers. What is durable changes in :meth:`.core.GroupCore.replay` alone, for loading and serving alike.
"""
