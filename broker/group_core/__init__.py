"""The groups of one partition of ``__consumer_offsets``, of both kinds, with their offsets: the core.
Pure.

It stands above :mod:`..groups` (the classic protocol), :mod:`..consumer_groups` (the new one) and :mod:`..offsets`:
here is looked up of which kind a group is, and the package of that kind decides. No socket, task, file or clock.
"""
