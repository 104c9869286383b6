"""Attempts at blocks as tasks of a Dask cluster. Imports Dask, so it is imported when asked for."""
