"""Op types of older graphs and of TensorFlow's own rewriters, which no public function adds."""
