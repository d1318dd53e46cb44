"""A folder for `PYTHONPATH`. Child processes of a program run its `sitecustomize` when they
start.
"""
