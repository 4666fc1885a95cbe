"""The reranker protocol and one file per reranker."""
