"""Server-side assignors: they compute the partitions of each member. Pure functions of the state of a group."""
