"""Code generation for CPU and GPU. Ops with known shapes become programs, programs become source
code, and source code becomes machine code.
"""
