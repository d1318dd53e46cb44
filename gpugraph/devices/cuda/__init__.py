"""CUDA GPUs: text to kernels, streams, captured work; over a driver that is CuPy's or the host's."""
