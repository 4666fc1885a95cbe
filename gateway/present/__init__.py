"""From the shapes of the knowledge base and the engine to what a caller reads: dictionaries in wire form.

Decides nothing; `status` and `completeness` come first, because some clients cut what comes later.
"""
