"""Sessions: an append-only log of turns, and the state that folds out of it. Knows no scene and no protocol."""
