"""The bench against real processes, real sockets and a real server."""
