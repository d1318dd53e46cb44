"""The driver of a GPU: CuPy's bindings, NVRTC, cublasLt and libcuda."""
