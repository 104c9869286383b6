"""The league of servers: disciplines as data, one capsule for each, and one page of standings.

It uses studies, visits and comparisons like any user. Nothing below the command line imports it.
"""
