"""`tf.contrib.resampler`: sampling of images at positions between pixels."""

from gpugraph.library.contrib.images import (
    resampler as resampler,
)
