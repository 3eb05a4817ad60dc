"""Tables of conversations, their messages, issues and topics."""
