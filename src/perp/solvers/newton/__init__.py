"""Newton methods: semismooth equations that hold exactly at a solution, and their linear systems."""
