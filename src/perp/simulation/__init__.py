"""A scene that runs: simulations, recordings, batches of worlds, sweeps and gradients of whole runs."""
