"""Interior-point methods: a path through the inside of the sets towards the solution."""
