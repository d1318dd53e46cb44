"""A folder of `PYTHONPATH`: what Python runs first in processes that a program starts."""
