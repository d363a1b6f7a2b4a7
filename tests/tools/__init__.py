"""Tools of `make check` that do not exist as packages."""
