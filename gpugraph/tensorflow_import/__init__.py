"""Unchanged TensorFlow programs: this package answers `import tensorflow`.

`module_table` is the table of TensorFlow's modules, `tensorflow_names` looks names up in it,
`answering_modules` has the modules that programs import, and `as_tensorflow` switches it all on.
"""
