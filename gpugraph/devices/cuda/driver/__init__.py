"""The driver of a GPU, through CuPy's bindings, NVRTC, cublasLt and libcuda."""
