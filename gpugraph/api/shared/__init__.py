"""Lists of names that `tf` and one of its modules share; both take them from here by `import *`."""
