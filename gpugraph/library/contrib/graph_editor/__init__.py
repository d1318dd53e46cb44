"""`tf.contrib.graph_editor`: functions that select and copy operations of a graph, and reroute
tensors.
"""
