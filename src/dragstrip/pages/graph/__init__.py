"""The graph of a page: learned from a browser's visits, or read off the recording.

bodies      documents and style sheets in the page file markup      what a document refers to, and
at which byte sheets      what a style sheet refers to offsets     bytes of a body on the wire scene
the page's documents as a browser parses them: what stands before what structure   a graph without
visits visits      a graph from visits store       a graph in a page file
"""
