"""The machinery of pipelines: stages and their elements, threads, blocks of rows, positions."""
