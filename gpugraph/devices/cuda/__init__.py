"""CUDA GPUs: text to kernels, streams, captured work; by a driver, CuPy's or the host's."""
