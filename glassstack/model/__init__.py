"""Events and entities: what every other floor speaks. Imports nothing of ours."""
