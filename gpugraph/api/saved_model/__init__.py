"""SavedModels: writing, loading and calling graphs with their variables, assets and signatures."""

from gpugraph.api.saved_model import (
    builder as builder, constants as constants, loader as loader, main_op as main_op,
    signature_constants as signature_constants, signature_def_utils as signature_def_utils,
    tag_constants as tag_constants, utils as utils,
)
from gpugraph.api.saved_model.constants import *
from gpugraph.api.saved_model.loader import *
from gpugraph.api.saved_model.signature_constants import *
from gpugraph.api.saved_model.signature_def_utils import *
from gpugraph.api.saved_model.tag_constants import *
from gpugraph.api.saved_model.utils import *
from gpugraph.library.saved_models.initialization_ops import (
    main_op_with_restore as main_op_with_restore,
)
from gpugraph.library.saved_models.loaded_function import load_function as load_function
from gpugraph.library.saved_models.model_builder import simple_save as simple_save

Builder = builder.SavedModelBuilder
contains_saved_model = loader.maybe_saved_model_directory
