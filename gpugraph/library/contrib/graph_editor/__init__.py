"""`tf.contrib.graph_editor`: selecting operations of a graph, copying them, rerouting tensors."""
