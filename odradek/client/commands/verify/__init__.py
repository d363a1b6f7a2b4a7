"""``odradek verify``: writes numbered records to a cluster, reads them back, and reports lost or wrong ones."""
