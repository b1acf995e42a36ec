"""Many worlds of one scene, stepped on all cores."""
