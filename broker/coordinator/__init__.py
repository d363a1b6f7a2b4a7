"""The shell of the group coordinator: appends records, sets timers, delivers replies, loads partitions.

What is decided is decided in :mod:`..groups` and :mod:`..offsets`.
"""
