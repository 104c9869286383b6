"""Runs studies into capsules, for the command line and for any program."""
