"""Detection of GPUs, and of the reason if there are none."""
