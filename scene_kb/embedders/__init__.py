"""The embedder protocol and one file per embedder."""
