"""Calls of functions: `tf.function`, `Defun`, and the ops If, While and For. The calls are inlined
into the graph.
"""
