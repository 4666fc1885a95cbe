"""`python -m gateway.cli`: the same as `sanbu`."""

from gateway.cli.main import main

main()
