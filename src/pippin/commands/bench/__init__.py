"""`pippin bench`: how fast is a model on each device of this machine?"""
