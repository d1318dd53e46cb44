"""The table of removed names, with the module of each name and the value that the name now has.

A row is a module, followed by pairs `name=value`. The value is a path such as `module.attribute`. A
path with the prefix `own.` is relative to this package. A name with a dot is an attribute of a
class. `*names=module` means that each of the names has the same name in `module`. A row may concern
several modules of one package: `package.first,second`. The modules of the rows in `NEW_MODULES` no
longer exist. They are created anew unless they are installed. An indented line continues the
previous one.
"""

from __future__ import annotations

import re

_ADDED = """
array: array.tostring=own.of_python.array_tostring array.fromstring=own.of_python.array_fromstring
ast: Num=ast.Constant Str=ast.Constant Bytes=ast.Constant NameConstant=ast.Constant
    Ellipsis=ast.Constant
asyncio: coroutine=own.of_python.coroutine async=asyncio.ensure_future
base64: encodestring=base64.encodebytes decodestring=base64.decodebytes
cgi: escape=html.escape
collections: *AsyncGenerator,AsyncIterable,AsyncIterator,Awaitable,ByteString=collections.abc
    *Callable,Collection=collections.abc
    *Container,Coroutine,Generator,Hashable,ItemsView,Iterable,Iterator,KeysView=collections.abc
    *Mapping,MappingView,MutableMapping,MutableSequence,MutableSet,Reversible=collections.abc
    *Sequence,Set,Sized,ValuesView=collections.abc
configparser: SafeConfigParser=configparser.ConfigParser
    RawConfigParser.readfp=own.of_python.readfp
fractions: gcd=math.gcd
gettext: lgettext=gettext.gettext
html.parser: HTMLParser.unescape=own.of_python.unescape HTMLParseError=builtins.ValueError
importlib: find_loader=own.of_python.find_loader
inspect: getargspec=own.of_python.getargspec formatargspec=own.of_python.formatargspec
    getmoduleinfo=own.of_python.getmoduleinfo ArgSpec=own.of_python.ArgSpec
locale: format=locale.format_string
logging: warn=logging.warning
operator: isSequenceType=own.of_python.is_sequence isCallable=builtins.callable
    div=operator.truediv
os: errno=errno
pkgutil: ImpImporter=own.of_python.ImpImporter ImpLoader=own.of_python.ImpImporter
platform: linux_distribution=own.of_python.linux_distribution dist=own.of_python.linux_distribution
plistlib: readPlist=plistlib.load writePlist=plistlib.dump
string: maketrans=builtins.str.maketrans letters=string.ascii_letters
    lowercase=string.ascii_lowercase uppercase=string.ascii_uppercase join=own.of_python.string_join
    upper=builtins.str.upper lower=builtins.str.lower strip=builtins.str.strip
    split=builtins.str.split replace=builtins.str.replace find=builtins.str.find
    atoi=builtins.int atof=builtins.float
sys: maxint=sys.maxsize setcheckinterval=own.of_python.do_nothing
    setdefaultencoding=own.of_python.do_nothing
threading: Thread.isAlive=threading.Thread.is_alive _Timer=threading.Timer
time: clock=time.perf_counter
traceback: format_exc_only=traceback.format_exception_only
types: ClassType=builtins.type StringType=builtins.str StringTypes=own.of_python.STRING_TYPES
    ListType=builtins.list DictType=builtins.dict TupleType=builtins.tuple IntType=builtins.int
    FloatType=builtins.float BooleanType=builtins.bool UnicodeType=builtins.str
    LongType=builtins.int ObjectType=builtins.object
unittest: TestCase.assertEquals=unittest.TestCase.assertEqual
    TestCase.assertNotEquals=unittest.TestCase.assertNotEqual
    TestCase.assert_=unittest.TestCase.assertTrue
    TestCase.assertAlmostEquals=unittest.TestCase.assertAlmostEqual
    TestCase.assertNotAlmostEquals=unittest.TestCase.assertNotAlmostEqual
    TestCase.assertRegexpMatches=unittest.TestCase.assertRegex
    TestCase.assertNotRegexpMatches=unittest.TestCase.assertNotRegex
    TestCase.assertRaisesRegexp=unittest.TestCase.assertRaisesRegex
    TestCase.assertItemsEqual=unittest.TestCase.assertCountEqual
    TestCase.failUnless=unittest.TestCase.assertTrue TestCase.failIf=unittest.TestCase.assertFalse
    TestCase.assertDictContainsSubset=own.of_python.assert_dict_contains_subset
    makeSuite=own.of_python.make_suite
xml.etree.ElementTree: Element.getchildren=builtins.list
    Element.getiterator=own.of_python.element_iter
    ElementTree.getiterator=own.of_python.element_iter

numpy: ndarray.tostring=own.of_numpy.array_bytes generic.tostring=own.of_numpy.array_bytes
    ndarray.itemset=own.of_numpy.itemset ndarray.ptp=own.of_numpy.array_ptp
    ndarray.newbyteorder=own.of_numpy.in_byte_order object=builtins.object float=builtins.float
    int=builtins.int bool=builtins.bool
    str=builtins.str complex=builtins.complex unicode=builtins.str long=builtins.int
    float_=numpy.float64 complex_=numpy.complex128 string_=numpy.bytes_ unicode_=numpy.str_
    singlecomplex=numpy.complex64 cfloat=numpy.complex128 longfloat=numpy.longdouble
    clongfloat=numpy.clongdouble longcomplex=numpy.clongdouble object0=numpy.object_
    str0=numpy.str_ bytes0=numpy.bytes_ int0=numpy.intp uint0=numpy.uintp void0=numpy.void
    Inf=numpy.inf Infinity=numpy.inf infty=numpy.inf PINF=numpy.inf NINF=own.of_numpy.NINF
    NaN=numpy.nan NAN=numpy.nan PZERO=own.of_numpy.PZERO NZERO=own.of_numpy.NZERO
    asscalar=own.of_numpy.asscalar product=numpy.prod cumproduct=numpy.cumprod alltrue=numpy.all
    sometrue=numpy.any round_=numpy.round rank=numpy.ndim row_stack=numpy.vstack
    trapz=own.of_numpy.trapz in1d=own.of_numpy.in1d asfarray=own.of_numpy.asfarray
    msort=own.of_numpy.msort find_common_type=own.of_numpy.find_common_type
    issubclass_=own.of_numpy.is_subclass issubsctype=numpy.issubdtype
    issctype=own.of_numpy.is_scalar_type obj2sctype=own.of_numpy.scalar_type
    sctype2char=own.of_numpy.type_code maximum_sctype=own.of_numpy.maximum_type
    cast=own.of_numpy.CAST typeDict=numpy.sctypeDict sctypes=own.of_numpy.SCALAR_TYPES
    safe_eval=ast.literal_eval set_string_function=own.of_python.do_nothing
    alen=builtins.len deprecate=own.of_numpy.deprecate compat=own.of_numpy.COMPAT
    ComplexWarning=numpy.exceptions.ComplexWarning
    VisibleDeprecationWarning=numpy.exceptions.VisibleDeprecationWarning
    RankWarning=numpy.exceptions.RankWarning AxisError=numpy.exceptions.AxisError
    TooHardError=numpy.exceptions.TooHardError DataSource=numpy.lib.npyio.DataSource
    fastCopyAndTranspose=own.of_numpy.copy_and_transpose disp=own.of_numpy.disp
    who=own.of_python.do_nothing lookfor=own.of_python.do_nothing
    bool8=numpy.bool_ unicode0=numpy.str_ nbytes=own.of_numpy.NBYTES source=inspect.getsource
    deprecate_with_doc=own.of_numpy.deprecate set_numeric_ops=own.of_python.do_nothing
    add_docstring=own.of_python.do_nothing get_array_wrap=own.of_python.do_nothing
    compare_chararrays=numpy.char.compare_chararrays format_parser=numpy.rec.format_parser
    mat=numpy.asmatrix recfromcsv=numpy.genfromtxt recfromtxt=numpy.genfromtxt
    byte_bounds=numpy.lib.array_utils.byte_bounds add_newdoc=own.of_python.do_nothing
numpy.random: random_integers=own.of_numpy.random_integers
scipy: *array,arange,zeros,ones,eye,exp,log,sqrt,sin,cos,pi,mean,sum,dot,linspace,nan,inf=numpy
    interp=numpy.interp rand=numpy.random.rand randn=numpy.random.randn fft=scipy.fftpack.fft
scipy.integrate: simps=scipy.integrate.simpson cumtrapz=scipy.integrate.cumulative_trapezoid
    trapz=scipy.integrate.trapezoid
scipy.misc: imread=own.of_images.imread imresize=own.of_images.imresize imsave=own.of_images.imsave
    imrotate=own.of_images.imrotate toimage=own.of_images.toimage
    fromimage=own.of_images.fromimage bytescale=own.of_images.bytescale
    imshow=own.of_images.imshow *logsumexp,comb,factorial,factorial2,factorialk=scipy.special
    *face,ascent=scipy.datasets central_diff_weights=own.of_python.do_nothing
scipy.ndimage: imread=own.of_images.imread
scipy.signal: *gaussian,hamming,hann,blackman,bartlett,kaiser=scipy.signal.windows
    *boxcar,triang,general_gaussian,tukey=scipy.signal.windows
    hanning=scipy.signal.windows.hann
scipy.special: errprint=own.of_python.do_nothing
scipy.optimize.optimize: *_status_message,OptimizeResult=scipy.optimize._optimize
scipy.linalg: pinv2=scipy.linalg.pinv tri=numpy.tri tril=numpy.tril triu=numpy.triu
scipy.stats: chisqprob=scipy.stats.chi2.sf itemfreq=own.of_numpy.itemfreq
    median_absolute_deviation=scipy.stats.median_abs_deviation binom_test=scipy.stats.binomtest
scipy.sparse: bsr=scipy.sparse.bsr_matrix

PIL.Image: ANTIALIAS=PIL.Image.LANCZOS LINEAR=PIL.Image.BILINEAR CUBIC=PIL.Image.BICUBIC
PIL.ImageDraw: ImageDraw.textsize=own.of_images.textsize
PIL.ImageFont: FreeTypeFont.getsize=own.of_images.getsize ImageFont.getsize=own.of_images.getsize
PIL: PILLOW_VERSION=PIL.__version__
gast: Num=gast.Constant Str=gast.Constant Bytes=gast.Constant NameConstant=gast.Constant
    Ellipsis=gast.Constant
h5py: Dataset.value=own.of_data_files.DATASET_VALUE
matplotlib.cm: get_cmap=matplotlib.pyplot.get_cmap spectral=matplotlib.cm.nipy_spectral
matplotlib.pyplot: hold=own.of_python.do_nothing
pandas: DataFrame.append=own.of_data_files.append Series.append=own.of_data_files.append
    DataFrame.as_matrix=own.of_data_files.as_matrix Series.as_matrix=own.of_data_files.as_matrix
    DataFrame.iteritems=pandas.DataFrame.items Series.iteritems=pandas.Series.items
    DataFrame.ix=own.of_data_files.IX Series.ix=own.of_data_files.IX np=numpy
    DataFrame.get_value=own.of_data_files.get_value
    DataFrame.applymap=pandas.DataFrame.map
    DataFrame.lookup=own.of_pandas.lookup DataFrame.sort=own.of_pandas.sort
    Series.sort=own.of_pandas.sort Series.order=own.of_pandas.sort
    Series.nonzero=own.of_pandas.nonzero
    Series.pad=pandas.Series.ffill DataFrame.pad=pandas.DataFrame.ffill
    Series.backfill=pandas.Series.bfill DataFrame.backfill=pandas.DataFrame.bfill
    DataFrame.set_value=own.of_pandas.set_value DataFrame.get_values=own.of_pandas.get_values
    DataFrame.mad=own.of_pandas.mad DataFrame.clip_lower=own.of_pandas.clip_lower
    DataFrame.clip_upper=own.of_pandas.clip_upper DataFrame.bool=own.of_pandas.boolean
    DataFrame.tshift=own.of_pandas.tshift
    Series.set_value=own.of_pandas.set_value Series.get_values=own.of_pandas.get_values
    Series.mad=own.of_pandas.mad Series.clip_lower=own.of_pandas.clip_lower
    Series.clip_upper=own.of_pandas.clip_upper Series.bool=own.of_pandas.boolean
    Series.tshift=own.of_pandas.tshift
    datetime=datetime.datetime TimeGrouper=pandas.Grouper
    scatter_matrix=pandas.plotting.scatter_matrix
    *value_counts,Int64Index,UInt64Index,Float64Index,rolling_mean=own.of_pandas
    *rolling_std,rolling_sum,rolling_max,rolling_min,expanding_mean,ewma=own.of_pandas
pandas.io.json: json_normalize=pandas.json_normalize
pandas.core.indexes.datetimes: DatetimeIndex.weekofyear=own.of_pandas.WEEK
    DatetimeIndex.week=own.of_pandas.WEEK DatetimeIndex.weekday_name=own.of_pandas.WEEKDAY_NAME
pandas.core.indexes.accessors: DatetimeProperties.weekofyear=own.of_pandas.WEEK
    DatetimeProperties.week=own.of_pandas.WEEK
    DatetimeProperties.weekday_name=own.of_pandas.WEEKDAY_NAME
sklearn.preprocessing: Imputer=sklearn.impute.SimpleImputer
    OneHotEncoder.get_feature_names=own.of_scikit_learn.feature_names
    PolynomialFeatures.get_feature_names=own.of_scikit_learn.feature_names
sklearn.metrics: calinski_harabaz_score=sklearn.metrics.calinski_harabasz_score
    jaccard_similarity_score=own.of_scikit_learn.jaccard_similarity_score
    plot_confusion_matrix=sklearn.metrics.ConfusionMatrixDisplay.from_estimator
    plot_roc_curve=sklearn.metrics.RocCurveDisplay.from_estimator
    plot_precision_recall_curve=sklearn.metrics.PrecisionRecallDisplay.from_estimator
sklearn.datasets: fetch_mldata=own.of_data_files.fetch_mldata
sklearn.compose: ColumnTransformer.get_feature_names=own.of_scikit_learn.feature_names
sklearn.covariance: GraphLasso=sklearn.covariance.GraphicalLasso
    GraphLassoCV=sklearn.covariance.GraphicalLassoCV
    graph_lasso=sklearn.covariance.graphical_lasso
sklearn.exceptions: ChangedBehaviorWarning=builtins.UserWarning
sklearn.feature_extraction: DictVectorizer.get_feature_names=own.of_scikit_learn.feature_names
sklearn.feature_extraction.text: CountVectorizer.get_feature_names=own.of_scikit_learn.feature_names
sklearn.inspection:
    plot_partial_dependence=sklearn.inspection.PartialDependenceDisplay.from_estimator
sklearn.neighbors: DistanceMetric=sklearn.metrics.DistanceMetric
sklearn.random_projection: gaussian_random_matrix=sklearn.random_projection._gaussian_random_matrix
    sparse_random_matrix=sklearn.random_projection._sparse_random_matrix
sklearn.utils: safe_indexing=sklearn.utils._safe_indexing *Memory,Parallel,cpu_count,delayed=joblib
networkx: from_numpy_matrix=networkx.from_numpy_array to_numpy_matrix=networkx.to_numpy_array
    Graph.node=networkx.Graph.nodes info=builtins.str OrderedGraph=networkx.Graph
    OrderedDiGraph=networkx.DiGraph OrderedMultiGraph=networkx.MultiGraph
    OrderedMultiDiGraph=networkx.MultiDiGraph
    connected_component_subgraphs=own.of_data_files.component_subgraphs
"""

_NEW_MODULES = """
md5: new=hashlib.md5 md5=hashlib.md5
sha: new=hashlib.sha1 sha=hashlib.sha1
imp: load_source=own.of_python.load_source find_module=own.of_python.find_module
    reload=importlib.reload new_module=types.ModuleType load_module=own.of_python.load_module
    load_compiled=own.of_python.load_source get_suffixes=own.of_python.get_suffixes
    acquire_lock=own.of_python.do_nothing release_lock=own.of_python.do_nothing
    cache_from_source=importlib.util.cache_from_source PY_SOURCE=own.of_python.PY_SOURCE
    C_EXTENSION=own.of_python.C_EXTENSION PKG_DIRECTORY=own.of_python.PKG_DIRECTORY
distutils: version=@distutils.version spawn=@distutils.spawn util=@distutils.util
    dir_util=@distutils.dir_util file_util=@distutils.file_util sysconfig=@distutils.sysconfig
    __version__=platform.python_version
distutils.version: LooseVersion=own.of_distutils.LooseVersion
    StrictVersion=own.of_distutils.StrictVersion Version=own.of_distutils.LooseVersion
distutils.spawn: find_executable=shutil.which spawn=own.of_distutils.spawn
distutils.util: strtobool=own.of_distutils.strtobool get_platform=sysconfig.get_platform
distutils.dir_util: mkpath=own.of_distutils.mkpath copy_tree=own.of_distutils.copy_tree
    remove_tree=shutil.rmtree
distutils.file_util: copy_file=own.of_distutils.copy_file move_file=shutil.move
distutils.sysconfig: get_python_lib=own.of_distutils.get_python_lib
    get_python_inc=own.of_distutils.get_python_inc get_config_var=sysconfig.get_config_var
    get_config_vars=sysconfig.get_config_vars
distutils.errors: DistutilsError=builtins.Exception DistutilsExecError=builtins.OSError
    CompileError=builtins.OSError
pipes: quote=shlex.quote
cgi: escape=html.escape parse_qs=urllib.parse.parse_qs
imghdr: what=own.of_images.image_kind
asyncore: dispatcher=builtins.object loop=own.of_python.do_nothing
pkg_resources: parse_version=own.of_distutils.LooseVersion
    get_distribution=own.of_distutils.get_distribution require=own.of_distutils.require
    resource_filename=own.of_distutils.resource_filename
    resource_string=own.of_distutils.resource_string
    resource_stream=own.of_distutils.resource_stream
    resource_exists=own.of_distutils.resource_exists
    resource_listdir=own.of_distutils.resource_listdir
    DistributionNotFound=importlib.metadata.PackageNotFoundError
    VersionConflict=builtins.ImportError iter_entry_points=own.of_distutils.iter_entry_points
    working_set=own.of_distutils.WORKING_SET declare_namespace=own.of_python.do_nothing
xml.etree.cElementTree: **=xml.etree.ElementTree
scipy.misc: __doc__=builtins.str
scipy.misc.pilutil: *imread,imresize,imsave,imrotate,toimage,fromimage,bytescale=own.of_images
scipy._lib.six: **=six xrange=builtins.range zip=builtins.zip
sklearn.externals: joblib=@joblib six=@six
sklearn.externals.joblib: **=joblib
sklearn.externals.six: **=six
sklearn.cross_validation: **=sklearn.model_selection
sklearn.grid_search: **=sklearn.model_selection
sklearn.learning_curve: **=sklearn.model_selection
sklearn.lda: LDA=sklearn.discriminant_analysis.LinearDiscriminantAnalysis
sklearn.qda: QDA=sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis
sklearn.cluster.affinity_propagation_,bicluster,birch,dbscan_,hierarchical: **=sklearn.cluster
sklearn.cluster.k_means_,mean_shift_,optics_,spectral: **=sklearn.cluster
sklearn.covariance.empirical_covariance_,shrunk_covariance_,robust_covariance: **=sklearn.covariance
sklearn.covariance.graph_lasso_,elliptic_envelope: **=sklearn.covariance
sklearn.cross_decomposition.cca_,pls_: **=sklearn.cross_decomposition
sklearn.datasets.base: **=sklearn.datasets Bunch=sklearn.utils.Bunch
sklearn.datasets.california_housing,covtype,kddcup99,lfw,olivetti_faces,openml: **=sklearn.datasets
sklearn.datasets.samples_generator,species_distributions,svmlight_format: **=sklearn.datasets
sklearn.datasets.rcv1,twenty_newsgroups: **=sklearn.datasets
sklearn.decomposition.base,factor_analysis,fastica_,incremental_pca: **=sklearn.decomposition
sklearn.decomposition.kernel_pca,nmf,online_lda,pca: **=sklearn.decomposition
sklearn.decomposition.sparse_pca,truncated_svd: **=sklearn.decomposition
sklearn.ensemble.bagging,base,forest,gradient_boosting,iforest: **=sklearn.ensemble
sklearn.ensemble.voting,voting_classifier,weight_boosting: **=sklearn.ensemble
sklearn.feature_extraction.dict_vectorizer,hashing: **=sklearn.feature_extraction
sklearn.feature_extraction.stop_words: **=sklearn.feature_extraction.text
sklearn.feature_selection.base,from_model,rfe,univariate_selection: **=sklearn.feature_selection
sklearn.feature_selection.variance_threshold: **=sklearn.feature_selection
sklearn.gaussian_process.gpr,gpc: **=sklearn.gaussian_process
sklearn.linear_model.base,bayes,coordinate_descent,huber,least_angle: **=sklearn.linear_model
sklearn.linear_model.logistic,omp,passive_aggressive,perceptron,ransac: **=sklearn.linear_model
sklearn.linear_model.ridge,sag,stochastic_gradient,theil_sen: **=sklearn.linear_model
sklearn.manifold.isomap,mds,spectral_embedding_,t_sne: **=sklearn.manifold
sklearn.manifold.locally_linear: **=sklearn.manifold
sklearn.metrics.base,classification,ranking,regression,scorer: **=sklearn.metrics
sklearn.metrics.cluster.bicluster,supervised,unsupervised: **=sklearn.metrics.cluster
sklearn.mixture.base,bayesian_mixture,gaussian_mixture: **=sklearn.mixture
sklearn.neighbors.ball_tree,base,classification,graph,kd_tree,kde,lof,nca: **=sklearn.neighbors
sklearn.neighbors.nearest_centroid,regression,unsupervised: **=sklearn.neighbors
sklearn.neural_network.multilayer_perceptron,rbm: **=sklearn.neural_network
sklearn.preprocessing.data,imputation,label: **=sklearn.preprocessing
sklearn.semi_supervised.label_propagation: **=sklearn.semi_supervised
sklearn.svm.base,bounds,classes: **=sklearn.svm
sklearn.tree.export,tree: **=sklearn.tree
sklearn.utils.testing: **=sklearn.utils._testing
sklearn.utils.linear_assignment_: linear_assignment=own.of_numpy.linear_assignment
sklearn.utils.fixes: **=sklearn.utils
numpy.testing.decorators: **=numpy.testing
numpy.testing.utils: **=numpy.testing
numpy.lib.index_tricks: **=numpy
numpy.core.umath_tests: inner1d=own.of_numpy.inner1d
pandas.util.testing: **=pandas.testing
pandas.tools.plotting: **=pandas.plotting
matplotlib.mlab: *frange,normpdf=own.of_numpy
skimage.measure.simple_metrics: **=skimage.metrics
networkx.readwrite.json_graph: **=networkx.readwrite
"""


def _read(text: str) -> dict[str, dict[str, str]]:
    """Return a dict from modules to dicts from names to values."""
    table: dict[str, dict[str, str]] = {}
    for line in filter(None, re.sub(r"\n +", " ", text).splitlines()):
        modules, _, words = line.partition(": ")
        row: dict[str, str] = {}
        for word in words.split():
            name, _, value = word.partition("=")
            if name.startswith("*") and name != "**":
                row.update({part: f"{value}.{part}" for part in name[1:].split(",")})
            else:
                row[name] = value
        package, dot, lasts = modules.rpartition(".")
        for last in lasts.split(","):
            table.setdefault(f"{package}{dot}{last}", {}).update(row)
    return table


ADDED = _read(_ADDED)
"""By module that still exists, the values of its removed names."""

NEW_MODULES = _read(_NEW_MODULES)
"""By module that no longer exists, the values of its names. `**` means all names of a module."""
