"""A Kafka broker in Python: six packages that the top level links to (docs/architecture.md).

``odradek.__version__`` is the version of the installed code, as text. Nothing else is imported here, because every
command and every pytest run of a user imports this module.
"""

__version__ = "0.1.0"
