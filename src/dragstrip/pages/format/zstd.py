"""Zstandard (RFC 8878), from the standard library since Python 3.14, otherwise from the
backport."""

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import (
        ZstdCompressor,
        ZstdDecompressor,
        ZstdDict,
        ZstdError,
        ZstdFile,
        compress,
    )
else:
    from backports.zstd import (
        ZstdCompressor,
        ZstdDecompressor,
        ZstdDict,
        ZstdError,
        ZstdFile,
        compress,
    )

__all__ = ["ZstdCompressor", "ZstdDecompressor", "ZstdDict", "ZstdError", "ZstdFile", "compress"]
