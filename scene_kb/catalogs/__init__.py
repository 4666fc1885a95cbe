"""The demonstration catalogs, usable as templates: one folder each, with the builder of its data."""
