"""Exceptions of damaged zip files."""

import lzma
import struct
import zipfile
import zlib

BAD_ZIP = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, RuntimeError, ValueError),
)
"""Exceptions that `zipfile` raises for a damaged, encrypted or unknown archive, besides `OSError`,
and `KeyError` for a missing member."""
