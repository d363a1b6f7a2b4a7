"""The runtime of the coordinators: it appends records, sets timers, delivers replies and loads partitions. Shell.

The decisions are made in :mod:`..groups`, :mod:`..transactions` and :mod:`..share_state`.
"""
