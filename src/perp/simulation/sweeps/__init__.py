"""Many runs over parameters, on processes or a cluster, as one table."""
