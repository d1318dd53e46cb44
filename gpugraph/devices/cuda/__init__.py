"""CUDA GPUs: text to kernels, streams, captured work; over CuPy's driver or the host's."""
