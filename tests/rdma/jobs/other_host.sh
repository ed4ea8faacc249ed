# The second host: starts what the first one asks for.
exec python3 -B "$rdma/agent.py" serve
