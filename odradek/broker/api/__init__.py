"""One module for each served API, named as Kafka names it: this listing is the support table.

Each module has ``API_KEY`` and ``handle(broker, request, context, reply)``. ``handle`` calls ``reply(response)`` once,
immediately or later (``reply(None)`` if the client wants no answer). If it returns an iterator, the dispatcher runs the
work to its first pause, and the rest in slices (:data:`..dispatch.served.Handler`). A module's docstring starts with
the served versions, what each version changed, and the possible errors. :mod:`..dispatch.served` maps API keys to
modules. A module is imported on the first request for its API, so it does not slow down the broker's start.
"""
