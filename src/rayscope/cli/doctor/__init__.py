"""``rayscope doctor``: ``collect`` and ``host`` find the facts, ``checks`` judges them, ``command`` prints."""
