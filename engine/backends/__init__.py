"""Backends: one file per kind of store, opened by the scheme of a source url."""
