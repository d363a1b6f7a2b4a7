"""A controller in this process, for tests of brokers in a cluster. It is the only voter, so nothing replicates its log.

``embedded`` runs it, ``server`` has its sockets, ``requests`` the handler of each API. The modules that make decisions
are pure. Changes that clients ask for are decided by the package ``broker.controller``.
"""
