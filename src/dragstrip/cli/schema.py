"""`dragstrip schema`: the JSON schema of study files."""

import sys

from dragstrip.cli import exits
from dragstrip.study.schema import schema_text


def schema() -> int:
    """Print the JSON schema of study files, for editors."""
    sys.stdout.write(schema_text())
    return exits.DONE
