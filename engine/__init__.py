"""The query engine: from a DataQuery under a Grant to a page that says whether it is complete.

Knows no scene and no protocol.
"""
