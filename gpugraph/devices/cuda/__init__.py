"""CUDA GPUs: kernels compiled from sources, streams and CUDA graphs, by the CUDA driver (through
CuPy) or an emulated driver.
"""

from __future__ import annotations
