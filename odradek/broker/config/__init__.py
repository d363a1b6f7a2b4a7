"""Configuration: Kafka's keys with type, default and rule; typed values from file, environment and overrides.

Public modules: ``server_config`` (``ServerConfig.load``, typed access), ``listeners`` (``Listener``), ``topic_config``
(topic keys, validation, ``log_config_for``), ``group_config`` (group and client-metrics keys), ``describe`` (the answer
of DescribeConfigs), ``dynamic_config`` (changes of broker keys at run time), ``effective`` (the keys with an effect in
this broker).
No module here opens a socket or reads a clock; the only files read are the tables in ``data/``.
"""
