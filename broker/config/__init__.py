"""Configuration: Kafka's keys by type, default and rule; file, environment and overrides turned into typed values.

Public modules: ``server_config`` (``ServerConfig.load``, typed access), ``listeners`` (``Listener``), ``topic_config``
(topic keys, validation, ``log_config_for``), ``group_config`` (group and client-metrics keys), ``describe`` (what
DescribeConfigs answers), ``dynamic_config`` (changes of broker keys at run time), ``effective`` (the keys that this
broker honours).
No module here opens a socket or reads a clock; the only files read are the tables in ``data/``.
"""
