"""Other recordings become pages: HAR, WARC, Mahimahi, saved pages."""
