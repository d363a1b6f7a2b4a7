"""A second, declarative codec for Kafka's formats, made with construct. The fast codec is tested against it.

``primitives`` has the wire types with bounds, ``trace`` records the position of each field, ``schema`` builds the
Struct of a message version from the table, ``wire`` encodes and decodes with it, ``dissect`` finds why a frame was
refused, ``disk`` declares the structures in a log directory. construct is imported only here; the broker imports
nothing of it when it starts, and does not use it on the hot path. Pure.
"""
