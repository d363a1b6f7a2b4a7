"""The declared reference of Kafka's bytes, in construct: readable, tied to the fast codec, never on the hot path.

``primitives`` are the wire types with bounds, ``trace`` notes which bytes became which field, ``schema`` builds the
Struct of a message at a version from the table, ``wire`` decodes and encodes with it, ``explain`` says why a frame was
refused, ``disk`` declares the structures at fixed offsets of a log directory. construct is imported only here, and
nothing of this is imported when the broker starts. Pure.
"""
