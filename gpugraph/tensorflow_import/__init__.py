"""Support for unchanged TensorFlow programs, in which `import tensorflow` imports this package.

`module_table` is the table of TensorFlow's modules. `tensorflow_names` looks up names in it.
`answering_modules` has the module objects that programs import. `as_tensorflow` activates all of
this.
"""
