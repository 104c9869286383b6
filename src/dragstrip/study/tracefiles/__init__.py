"""Recorded rates as networks: Mahimahi traces, throughput logs as CSV or JSON, in many dialects."""
