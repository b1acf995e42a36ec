"""How perp's kernels are compiled (`kernel`) and where they are kept (`cache`, `shipped`)."""
