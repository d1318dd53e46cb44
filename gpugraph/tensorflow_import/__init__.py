"""Programs as they are: `import tensorflow` answered by this package.

`module_table` is the table of TensorFlow's modules, `tensorflow_names` looks names up in it,
`answering_modules` are the modules that programs import, `as_tensorflow` turns all of it on.
"""
