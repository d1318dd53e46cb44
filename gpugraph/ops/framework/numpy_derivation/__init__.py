"""NumPy kernels that are derived from an op's C expression or from its formula."""
