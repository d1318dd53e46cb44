"""Functions of TensorFlow's internal modules that libraries call.

Libraries find them through `module_table`. Nothing else in this package uses them.
"""
