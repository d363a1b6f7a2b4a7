"""The cluster's metadata: KRaft records, the image that they make, and their log.

``image`` (the state; ``replay`` is the only way to change it), ``log`` (the files of ``__cluster_metadata-0``),
``publisher`` (what handlers and the server use while the broker runs), ``controller`` (the decisions that write more
records), ``quorum`` (a broker under other controllers).
"""
