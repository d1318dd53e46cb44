"""Names that Python, NumPy, SciPy, Pillow and other packages have removed since the time of
TensorFlow 1.

`gpugraph run` restores them, but only in the process of the program. `dropped_table` lists the
names. `dropped_imports` adds them to modules when these are imported. The other modules implement
the names that have no equivalent today.
"""
