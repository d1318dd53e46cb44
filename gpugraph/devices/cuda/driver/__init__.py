"""The driver of a GPU, which uses CuPy's bindings, NVRTC, cublasLt, cuDNN and libcuda."""
