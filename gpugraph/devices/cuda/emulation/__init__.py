"""CUDA emulated on the host, for tests on machines without a GPU."""
