"""Estimators that the papers use. Each file names its paper."""
