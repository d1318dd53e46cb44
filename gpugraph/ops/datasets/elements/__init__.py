"""The common parts of pipelines: stages and their elements, threads, blocks of rows, and
positions.
"""
