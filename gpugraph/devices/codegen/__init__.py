"""Code generation: programs from ops with their shapes, source code from programs, and machine code
from sources, for CPU and GPU.
"""
