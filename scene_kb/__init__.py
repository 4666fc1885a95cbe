"""The scene knowledge base: a folder of YAML becomes an index; a query becomes a ranked, calibrated match.

Knows no session and no protocol.
"""
