"""The groups of one partition of ``__consumer_offsets``. Pure but for log lines: no socket, task, file or clock.

A handler takes a request and the time. It leaves its results in :class:`.effects.GroupEffects`: records, replies,
timers. Durable state changes in :meth:`.core.GroupCore.replay` alone, for a log that is loaded and for a request.
:mod:`.routing` finds the kind of a group; the package of that kind (:mod:`.classic`, :mod:`.consumer`) decides.
:mod:`.coordinator` is the shell. Kafka: ``GroupCoordinatorService``, ``GroupMetadataManager``.
"""
