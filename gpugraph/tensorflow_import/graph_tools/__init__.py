"""`tensorflow.python.tools` and `tensorflow.tools.graph_transforms`: GraphDefs frozen, stripped of
training nodes, and rewritten for inference; checkpoints and SavedModels printed.
"""
