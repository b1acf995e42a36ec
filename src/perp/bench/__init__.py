"""The harness: test sets, solvers of ours and of others, measures by our code, and a report."""
