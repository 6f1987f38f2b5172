"""``rayscope doctor``: ``collect`` and ``host`` gather facts, ``checks`` judges them, ``command`` prints."""
