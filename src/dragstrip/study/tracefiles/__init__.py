"""Reads recorded rates as networks: Mahimahi traces, and throughput logs as CSV or JSON in many
dialects."""
