"""The executor that uses the workers of a Dask cluster. This folder imports Dask, so it is imported
only when a cluster is requested."""
