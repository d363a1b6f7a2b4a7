"""Generates the classes of :mod:`odradek.protocol.messages` from the message table (``make messages``).

Owns: the form of the generated modules. Never does: anything at run time; nothing else imports it. Invariant: the same
table gives the same bytes, already formatted as the project's formatter would.
"""
