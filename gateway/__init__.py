"""The product: three steps, and their faces over MCP, HTTP and the command line."""
