"""Programs as they are: `import tensorflow` answered by this package.

`module_table` is the table of TensorFlow's modules, `tensorflow_names` looks names up in it,
`answering_modules` are the modules that programs import, `as_tensorflow` turns all of it on.
"""

from __future__ import annotations

from gpugraph.tensorflow_import import (
    missing_attributes as _missing_attributes,  # noqa: F401  (for its effect)
    private_names as private_names,
)
from gpugraph.tensorflow_import.import_switch import (
    as_tensorflow as as_tensorflow,
    install as install,
)
from gpugraph.tensorflow_import.missing_names import MissingNames as MissingNames
