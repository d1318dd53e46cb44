"""Code generation for CPU and GPU: ops with their shapes become programs, programs become source
code, and source code becomes machine code.
"""
