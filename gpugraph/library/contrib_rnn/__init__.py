"""`tf.contrib.cudnn_rnn`: recurrent networks of several layers whose weights are one variable."""
