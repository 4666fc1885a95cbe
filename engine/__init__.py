"""The query engine: authorize, normalise, resolve, route, compile, fetch, freeze, page, assess. Knows no scene and no protocol."""
