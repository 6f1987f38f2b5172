"""What slows jobs down, one kind in each module; they register as entry points ``rayscope.detectors``."""
