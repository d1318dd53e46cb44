"""Private functions and classes of TensorFlow 1 that published programs import.

Programs find them through the table of modules, by TensorFlow's names and arguments.
"""
