"""Networks for images. A table of layers declares each network.

`network_rows` runs the rows of these tables. `residual_networks` has the functions that both
generations of residual networks use.
"""

from gpugraph.library.contrib.slim_models.nets import (
    alexnet as alexnet,
    inception as inception,
    inception_v1 as inception_v1,
    inception_v2 as inception_v2,
    inception_v3 as inception_v3,
    overfeat as overfeat,
    resnet_utils as resnet_utils,
    resnet_v1 as resnet_v1,
    resnet_v2 as resnet_v2,
    vgg as vgg,
)
