"""The catalog, the data and the triggers behind scripts/check-contracts."""
