"""The Rust programs' bill of materials: Cargo.lock as CycloneDX JSON.

python scripts/sbom.py Cargo.lock dist/sbom-rust.cdx.json
"""

import sys
import tomllib
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL


def bill(lock: Path) -> Bom:
    """A component for each locked crate, with the checksum that cargo verifies."""
    bom = Bom()
    for crate in tomllib.loads(lock.read_text())["package"]:
        checksum = crate.get("checksum")
        hashes = [HashType(alg=HashAlgorithm.SHA_256, content=checksum)] if checksum else []
        purl = PackageURL("cargo", name=crate["name"], version=crate["version"])
        bom.components.add(
            Component(
                type=ComponentType.LIBRARY,
                name=crate["name"],
                version=crate["version"],
                purl=purl,
                bom_ref=purl.to_string(),
                hashes=hashes,
            )
        )
    return bom


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_text(JsonV1Dot6(bill(source)).output_as_string(indent=2) + "\n")
