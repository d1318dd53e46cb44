"""The rows of the table of modules for `import keras` without Keras. `module_table` describes the
format.

The row `old_keras` is the module `keras`. It has the names of `tf.keras`, and the names of Keras
2.2 that `tf.keras` lacks.
"""

from __future__ import annotations

KERAS = "old_keras"
"""The path of the module `keras` in the table of modules."""

_NAMES = "gpugraph.tensorflow_import.old_keras.old_keras_names"
_SIZES = """Convolution1D=tf.keras.layers.Conv1D Convolution2D=tf.keras.layers.Conv2D
    Convolution3D=tf.keras.layers.Conv3D Deconvolution2D=tf.keras.layers.Conv2DTranspose
    Deconvolution3D=tf.keras.layers.Conv3DTranspose Deconv2D=tf.keras.layers.Conv2DTranspose
    Deconv3D=tf.keras.layers.Conv3DTranspose"""

ROWS_OF_KERAS = f"""
old_keras: python.keras/
old_keras: tf.keras __version__='2.2.4 wrappers=@python.keras.wrappers
old_keras.(backend backend.tensorflow_backend): tf.keras.backend {_NAMES}.of_backend
    identity=tf.identity logsumexp=tf.reduce_logsumexp slice=tf.slice size=tf.size
    control_dependencies=tf.control_dependencies
    normalize_data_format=gpugraph.library.keras.backend.array_functions.known_format
    _to_tensor=tf.convert_to_tensor
old_keras.backend: tensorflow_backend=@old_keras.backend.tensorflow_backend
old_keras.callbacks: tf.keras.callbacks Progbar=tf.keras.utils.Progbar
old_keras.callbacks.callbacks: tf.keras.callbacks
old_keras.constraints: tf.keras.constraints maxnorm=tf.keras.constraints.MaxNorm
    nonneg=tf.keras.constraints.NonNeg unitnorm=tf.keras.constraints.UnitNorm
old_keras.datasets.cifar: load_batch={_NAMES}.load_batch
old_keras.engine: tf.keras.layers tf.keras get_source_inputs=tf.keras.utils.get_source_inputs
old_keras.engine.saving: tf.keras.models {_NAMES}.of_saving
old_keras.engine.topology: tf.keras.layers tf.keras {_NAMES}.of_saving
    Container=gpugraph.library.keras.engine.network.Network
    Network=gpugraph.library.keras.engine.network.Network
    Node=gpugraph.library.keras.engine.layer_nodes.LayerNode
    get_source_inputs=tf.keras.utils.get_source_inputs
old_keras.initializers: tf.keras.initializers zero=tf.keras.initializers.Zeros
    one=tf.keras.initializers.Ones
old_keras.layers: tf.keras.layers {_SIZES}
old_keras.layers.convolutional: tf.keras.layers {_SIZES}
old_keras.legacy: interfaces=@old_keras.legacy.interfaces
old_keras.legacy.interfaces: {_NAMES}.INTERFACES
old_keras.losses: tf.keras.losses
    huber_loss=gpugraph.library.keras.losses.loss_functions.huber_loss
old_keras.metrics: tf.keras.metrics
    accuracy=gpugraph.library.keras.metrics.metric_functions.accuracy
    cosine_similarity=gpugraph.library.keras.metrics.metric_functions.cosine_similarity
old_keras.models: tf.keras.models Input=tf.keras.Input
old_keras.objectives: tf.keras.losses
    huber_loss=gpugraph.library.keras.losses.loss_functions.huber_loss
old_keras.optimizers: tf.keras.optimizers sgd=tf.keras.optimizers.SGD
    rmsprop=tf.keras.optimizers.RMSprop adagrad=tf.keras.optimizers.Adagrad
    adadelta=tf.keras.optimizers.Adadelta adam=tf.keras.optimizers.Adam
    adamax=tf.keras.optimizers.Adamax nadam=tf.keras.optimizers.Nadam
    TFOptimizer={_NAMES}.TFOptimizer
old_keras.utils: tf.keras.utils {_NAMES}.of_utils
    print_summary=gpugraph.library.keras.engine.model_summary.print_summary
old_keras.utils.generic_utils: tf.keras.utils gpugraph.tensorflow_import.private_keras_names
    {_NAMES}.of_utils
old_keras.utils.io_utils: tf.keras.utils {_NAMES}.of_utils
old_keras.utils.test_utils: {_NAMES}.of_utils
"""
