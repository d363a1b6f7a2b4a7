"""What every package uses: steps of long work, the wall clock, exports at first use, the options of commands."""
