"""The functions of all inception networks. TensorFlow's slim also has these functions in one
module.
"""

from gpugraph.library.contrib.slim_models.nets.inception_networks import (
    inception_arg_scope as inception_arg_scope,
)
from gpugraph.library.contrib.slim_models.nets.inception_v1 import (
    inception_v1 as inception_v1,
    inception_v1_arg_scope as inception_v1_arg_scope,
    inception_v1_base as inception_v1_base,
)
from gpugraph.library.contrib.slim_models.nets.inception_v2 import (
    inception_v2 as inception_v2,
    inception_v2_arg_scope as inception_v2_arg_scope,
    inception_v2_base as inception_v2_base,
)
from gpugraph.library.contrib.slim_models.nets.inception_v3 import (
    inception_v3 as inception_v3,
    inception_v3_arg_scope as inception_v3_arg_scope,
    inception_v3_base as inception_v3_base,
)
