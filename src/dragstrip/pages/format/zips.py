"""What zips of any origin may raise."""

import lzma
import struct
import zipfile
import zlib

BAD_ZIP = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, RuntimeError, ValueError),
)
"""What `zipfile` raises on a damaged, locked or unknown archive, beside `OSError`, and beside
`KeyError` for a member that is not there."""
