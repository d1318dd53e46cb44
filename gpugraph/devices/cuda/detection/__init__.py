"""Detection of usable GPUs. If there is none, detection gives the reason."""
