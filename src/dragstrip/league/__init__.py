"""The league of servers: disciplines as data, one capsule for each, and one page of standings.

The league uses studies, visits and comparisons as any user does. Nothing below the command line
imports it.
"""
