"""The executor whose machines are the workers of a Dask cluster. It imports Dask, so it is imported
when a cluster is asked for."""
