"""The contents of a report as plain rows and records, without HTML or drawings."""
