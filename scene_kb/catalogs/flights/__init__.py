"""The flights catalog: real departures from New York in 2013, ready to be asked and usable as a template."""
