"""``rayscope debug``: ``listing`` shows paused tasks, ``terminal`` debugs one, ``forward`` lets an editor do
so. Both use ``client``; ``command`` chooses.
"""
