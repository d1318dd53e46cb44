"""A folder for `PYTHONPATH`: child processes of a program run its `sitecustomize` at startup."""
