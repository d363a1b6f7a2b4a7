"""Server-side assignors: which member shall own which partitions. Pure functions of what a group looks like."""
