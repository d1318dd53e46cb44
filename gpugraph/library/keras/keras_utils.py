"""`tf.keras.utils`: lookup by name, drawings of models, data sets of batches, a progress bar."""

from gpugraph.library.keras.callbacks.progress_bar import Progbar as Progbar
from gpugraph.library.keras.engine.source_inputs import get_source_inputs as get_source_inputs
from gpugraph.library.keras.inputs.cached_files import get_file as get_file
from gpugraph.library.keras.inputs.categories import (
    normalize as normalize,
    to_categorical as to_categorical,
)
from gpugraph.library.keras.inputs.enqueuers import (
    GeneratorEnqueuer as GeneratorEnqueuer,
    OrderedEnqueuer as OrderedEnqueuer,
    SequenceEnqueuer as SequenceEnqueuer,
)
from gpugraph.library.keras.inputs.hdf5_matrix import HDF5Matrix as HDF5Matrix
from gpugraph.library.keras.inputs.sequence import Sequence as Sequence
from gpugraph.library.keras.keras_objects import (
    custom_object_scope as custom_object_scope,
    deserialize_keras_object as deserialize_keras_object,
    get_custom_objects as get_custom_objects,
    serialize_keras_object as serialize_keras_object,
)
from gpugraph.library.keras.layers.kernel_conversion import (
    convert_all_kernels_in_model as convert_all_kernels_in_model,
)
from gpugraph.library.keras.multi_gpu_model import multi_gpu_model as multi_gpu_model
from gpugraph.library.keras.pictures.plot_model import plot_model as plot_model

CustomObjectScope = custom_object_scope
