"""A folder for `PYTHONPATH`: its `sitecustomize` runs first in child processes of a program."""
