"""A recorded run simulated again, unchanged or with changes: what would it have taken?"""
