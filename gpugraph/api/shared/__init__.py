"""Lists of names that exist both in `tf` and in one of its modules. `tf` and the module import them
from here by `import *`.
"""
