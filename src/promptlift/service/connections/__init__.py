"""Connections of clients: how many there may be, how long each may take, and which one makes room."""
