"""A controller in this process, for tests of brokers in a cluster. It is the only voter: not for data that matters.

``embedded`` runs it, ``server`` has its sockets, ``requests`` the table of what it answers. The modules that decide are
pure; what clients may change is decided by ``broker/controller``.
"""
