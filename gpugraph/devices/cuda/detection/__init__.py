"""Detection of usable GPUs. If no GPU is usable, detection gives the reason."""
