"""Detection of usable GPUs, and of the reason if there are none."""
