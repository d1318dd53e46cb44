"""`tf.keras.preprocessing`: images, sequences and texts, from the package keras-preprocessing.

`preprocessing_package` loads the package. `preprocessing_modules` has the modules and their names.
"""

from gpugraph.library.keras.preprocessing.preprocessing_modules import MODULES

image = MODULES["image"]
sequence = MODULES["sequence"]
text = MODULES["text"]
