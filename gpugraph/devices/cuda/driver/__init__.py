"""What drives a GPU: CuPy's bindings, NVRTC, cublasLt, libcuda."""
