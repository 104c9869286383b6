"""Imports recordings of traffic, of one visit or of many: WARC, ARC, WACZ, flows of mitmproxy."""
