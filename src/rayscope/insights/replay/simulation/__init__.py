"""A discrete-event simulation that runs programs on nodes as Ray would."""
