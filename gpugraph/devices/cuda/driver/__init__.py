"""The libraries that drive a GPU: CuPy's bindings, NVRTC, cublasLt, libcuda."""
