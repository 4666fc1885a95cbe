"""The command line: one file per group of commands; imports are lazy so that help is instant."""
