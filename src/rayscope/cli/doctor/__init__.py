"""``rayscope doctor``: ``collect`` and ``host`` find facts, ``checks`` judges them, ``command`` prints."""
