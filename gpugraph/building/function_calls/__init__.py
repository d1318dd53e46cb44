"""Calls of functions: `tf.function`, `Defun` and the ops If, While and For, inlined in graphs."""
