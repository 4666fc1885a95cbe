"""What the ranking has learned: weights.json, made by scripts/learn from development data, and its loader."""
