"""What in the picture a verdict rests on, with the controls that tell an explanation from a coincidence."""
