"""Names that Python, NumPy, SciPy, Pillow and others have dropped since the time of TensorFlow 1.

`gpugraph run` gives them to the program, in its process alone. `dropped_table` lists them,
`dropped_imports` adds them to modules when these are imported, and the other modules implement
those that are more than another name.
"""
