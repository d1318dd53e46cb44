"""`tf.keras.datasets`: functions that read data sets from files in ~/.keras/datasets. Nothing is
downloaded.

`image_sets` and `sequence_sets` have the functions, and `dataset_modules` has the table of modules.
`plain_pickles` reads files of arrays without running code in them.
"""

from gpugraph.library.keras.datasets.dataset_modules import MODULES

boston_housing = MODULES["boston_housing"]
cifar10 = MODULES["cifar10"]
cifar100 = MODULES["cifar100"]
fashion_mnist = MODULES["fashion_mnist"]
imdb = MODULES["imdb"]
mnist = MODULES["mnist"]
reuters = MODULES["reuters"]
