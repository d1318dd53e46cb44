"""Detection of usable GPUs, and of the reason if no GPU is usable."""
