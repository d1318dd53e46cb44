"""Steps and sequences of GRU and LSTM networks, each as a single op."""
