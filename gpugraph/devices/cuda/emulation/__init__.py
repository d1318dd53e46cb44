"""CUDA emulated on the host, where CI has no GPU."""
