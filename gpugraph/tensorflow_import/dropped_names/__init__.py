"""Names that Python, NumPy, SciPy, Pillow and other packages have removed since the time of
TensorFlow 1.

`gpugraph run` restores them, but only in the process of the program. `dropped_table` lists the
names. `dropped_imports` adds them to modules when the modules are imported. The other modules of
this folder implement the names that have no equivalent today.
"""
