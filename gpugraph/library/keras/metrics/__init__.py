"""`tf.keras.metrics`: values that are accumulated over batches, as classes and functions, with
their lookup by name.
"""

from gpugraph.library.keras.losses import (
    KLD as KLD,
    MAE as MAE,
    MAPE as MAPE,
    MSE as MSE,
    MSLE as MSLE,
    binary_crossentropy as binary_crossentropy,
    categorical_crossentropy as categorical_crossentropy,
    cosine as cosine,
    cosine_proximity as cosine_proximity,
    hinge as hinge,
    kld as kld,
    kullback_leibler_divergence as kullback_leibler_divergence,
    mae as mae,
    mape as mape,
    mean_absolute_error as mean_absolute_error,
    mean_absolute_percentage_error as mean_absolute_percentage_error,
    mean_squared_error as mean_squared_error,
    mean_squared_logarithmic_error as mean_squared_logarithmic_error,
    mse as mse,
    msle as msle,
    poisson as poisson,
    sparse_categorical_crossentropy as sparse_categorical_crossentropy,
    squared_hinge as squared_hinge,
)
from gpugraph.library.keras.metrics.confusion_metrics import (
    FalseNegatives as FalseNegatives,
    FalsePositives as FalsePositives,
    MeanIoU as MeanIoU,
    Precision as Precision,
    Recall as Recall,
    TrueNegatives as TrueNegatives,
    TruePositives as TruePositives,
)
from gpugraph.library.keras.metrics.curve_metrics import (
    AUC as AUC,
    SensitivityAtSpecificity as SensitivityAtSpecificity,
    SpecificityAtSensitivity as SpecificityAtSensitivity,
)
from gpugraph.library.keras.metrics.function_metrics import (
    Accuracy as Accuracy,
    BinaryAccuracy as BinaryAccuracy,
    BinaryCrossentropy as BinaryCrossentropy,
    CategoricalAccuracy as CategoricalAccuracy,
    CategoricalCrossentropy as CategoricalCrossentropy,
    CategoricalHinge as CategoricalHinge,
    CosineSimilarity as CosineSimilarity,
    Hinge as Hinge,
    KLDivergence as KLDivergence,
    LogCoshError as LogCoshError,
    MeanAbsoluteError as MeanAbsoluteError,
    MeanAbsolutePercentageError as MeanAbsolutePercentageError,
    MeanSquaredError as MeanSquaredError,
    MeanSquaredLogarithmicError as MeanSquaredLogarithmicError,
    Poisson as Poisson,
    SparseCategoricalAccuracy as SparseCategoricalAccuracy,
    SparseCategoricalCrossentropy as SparseCategoricalCrossentropy,
    SparseTopKCategoricalAccuracy as SparseTopKCategoricalAccuracy,
    SquaredHinge as SquaredHinge,
    TopKCategoricalAccuracy as TopKCategoricalAccuracy,
)
from gpugraph.library.keras.metrics.metric_class import Metric as Metric
from gpugraph.library.keras.metrics.metric_functions import (
    binary_accuracy as binary_accuracy,
    categorical_accuracy as categorical_accuracy,
    sparse_categorical_accuracy as sparse_categorical_accuracy,
    sparse_top_k_categorical_accuracy as sparse_top_k_categorical_accuracy,
    top_k_categorical_accuracy as top_k_categorical_accuracy,
)
from gpugraph.library.keras.metrics.metric_means import (
    Mean as Mean,
    MeanRelativeError as MeanRelativeError,
    MeanTensor as MeanTensor,
    RootMeanSquaredError as RootMeanSquaredError,
    Sum as Sum,
)
from gpugraph.library.keras.metrics.metrics_by_name import (
    deserialize as deserialize,
    get as get,
    serialize as serialize,
)
