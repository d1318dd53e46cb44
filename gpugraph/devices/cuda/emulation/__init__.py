"""An emulation of CUDA on the host, for tests on machines without a GPU."""
