"""Op types that no public function adds. They occur in older graphs and in graphs that TensorFlow
has rewritten.
"""
