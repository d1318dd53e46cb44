"""`tf.contrib.resampler`: values of images at positions between pixels."""

from gpugraph.library.contrib.images import (
    resampler as resampler,
)
