"""`tensorflow.python.tools` and `tensorflow.tools.graph_transforms`. These tools freeze GraphDefs,
remove training nodes, and rewrite GraphDefs for inference. They also print checkpoints and
SavedModels.
"""
