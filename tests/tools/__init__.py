"""Tools of `make check` that no package on an index offers."""
