"""The session store protocol and one file per store."""
