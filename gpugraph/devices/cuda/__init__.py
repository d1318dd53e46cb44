"""CUDA GPUs: streams, CUDA graphs, and kernels that are compiled from sources. The driver is the
CUDA driver (through CuPy) or an emulation.
"""

from __future__ import annotations
