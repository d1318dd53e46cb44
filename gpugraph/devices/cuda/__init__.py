"""CUDA GPUs: kernels compiled from sources, streams and CUDA graphs, on the CUDA driver (through
CuPy) or an emulated one.
"""

from __future__ import annotations
