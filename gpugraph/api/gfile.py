"""Files and folders, as in `tf.gfile`."""

from gpugraph.platform.files import (
    Copy as Copy, DeleteRecursively as DeleteRecursively, Exists as Exists, GFile as GFile,
    Glob as Glob, IsDirectory as IsDirectory, ListDirectory as ListDirectory, MakeDirs as MakeDirs,
    MkDir as MkDir, Remove as Remove, Rename as Rename, Stat as Stat, Walk as Walk,
)

FastGFile = GFile
Open = GFile
