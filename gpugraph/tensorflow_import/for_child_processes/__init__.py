"""A folder for `PYTHONPATH`: its `sitecustomize` runs first in the processes that a program starts.
"""
