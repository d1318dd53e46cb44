"""Graphs and messages: GraphDefs and MetaGraphDefs imported, exported, cut and written."""
