"""What scripts/check-gate is made of: a table, generated policies and queries, an oracle, mutations, hostile texts."""
