"""The file layer: file operations, file names, checkpoints, descriptors, disk errors and disk space."""
