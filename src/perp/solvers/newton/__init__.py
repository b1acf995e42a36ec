"""Newton methods: semismooth equations, linearised and solved again."""
