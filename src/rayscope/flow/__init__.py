"""The views of how an application ran: pure functions from columns to small typed results. No I/O."""
