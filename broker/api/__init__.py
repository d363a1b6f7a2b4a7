"""One module for each served API, named as Kafka names it: this listing is the support table.

Each module has ``API_KEY`` and ``handle(broker, request, context, reply)``: a plain function that decides and calls
``reply(response)`` once, at once or later (``reply(None)`` if the client wants no answer). Its docstring starts with
the served versions, their changes and the possible errors. :mod:`..dispatch.served` has the list. A module is imported
on the first request for its API, so none of them slows down a start.
"""
