"""What drives a GPU: CuPy's bindings, NVRTC, cublasLt, libcuda."""

__all__: list[str] = []
