"""`tf.contrib.cudnn_rnn`: recurrent networks of several layers with all weights in one variable."""
