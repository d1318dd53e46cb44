"""Unchanged TensorFlow programs: `import tensorflow` gives them this package.

`module_table` is the table of TensorFlow's modules, `tensorflow_names` looks names up in that
table, `answering_modules` has the module objects that programs import, and `as_tensorflow` switches
all of it on.
"""
