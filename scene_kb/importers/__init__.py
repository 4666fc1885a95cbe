"""Importers: a catalog draft from something that already exists, one file per kind of source."""
