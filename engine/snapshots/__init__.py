"""Snapshots: frozen results, so that later pages and repeats come from stored rows."""
