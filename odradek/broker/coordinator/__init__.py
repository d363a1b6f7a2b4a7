"""The runtime of both coordinators: it appends records, sets timers, delivers replies and loads partitions. Shell.

The decisions are made in :mod:`..groups` and :mod:`..transactions`.
"""
