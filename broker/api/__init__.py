"""One module for each API that is served, named as Kafka names it: this listing is the support table.

Each module has ``API_KEY`` and ``handle(broker, request, context, reply)``: a plain function that decides and calls
``reply(response)`` once, at once or later (``reply(None)`` where the client wants no answer). It starts with the
versions served, what each changed and the errors that it can answer. :mod:`..dispatch.served` says which there are; a
module is imported when its API is first asked for, so that start-up pays for none of them.
"""
