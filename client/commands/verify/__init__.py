"""``odradek verify``: writes numbered records to a cluster, reads them back, and says what is wrong with them."""
