"""Exit codes: part of the command line's contract (docs/reference/command-line.md)."""

DONE = 0
FAILED_CONDITION = 1
WRONG_INPUT = 2
NO_TESTBED = 3
STAYED_INVALID = 4
INTERRUPTED = 130
