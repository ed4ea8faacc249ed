# Two guests, each a host of its own, over a network that delays, reorders and loses.
on_both() { weft run --hosts "guest1:$1,guest2:$1" --launcher-exec "python3 -B $rdma/agent.py" --timeout "$2" -- "${@:3}"; }
lossy() { tc qdisc replace dev eth0 root netem delay 500us 100us reorder 5% loss 0.3%; }
lossless() { tc qdisc del dev eth0 root; }
# has_netem YES: whether the kernel now delays, reorders and loses what leaves this guest.
has_netem() { [[ $(tc qdisc show dev eth0 | grep -c 'netem.*loss 0.3%.*reorder 5%') == "$1" ]]; }
answers() {
  for ((i = 0; i < 300; ++i)); do
    (: < /dev/tcp/guest1/7077 && : < /dev/tcp/guest2/7077) 2> /dev/null && return
    sleep 0.2
  done
  return 1
}

# The link goes down amid traffic, and stays so for longer than a peer may be out of reach: the job ends, by itself, and not with success.
cut() {
  WEFT_PEER_TIMEOUT=5 on_both 1 100 "$weft/bin/tests/failure_rank" traffic > /tmp/cut 2>&1 &
  local job=$! begun=
  # Each rank tells its process when its traffic begins.
  for ((i = 0; i < 300; ++i)); do
    [[ $(grep -c '^pid [0-9]* rank [01]$' /tmp/cut) == 2 ]] && break
    sleep 0.2
  done
  sleep 2
  [[ $(grep -c '^pid ' /tmp/cut) == 2 ]] && kill -0 "$job" && ip link set eth0 down || { cat /tmp/cut; return 1; }
  begun=$SECONDS
  sleep 12
  ip link set eth0 up
  wait "$job"
  local code=$?
  cat /tmp/cut
  ((code != 0 && code != 124 && SECONDS - begun < 90)) && grep -qi 'guest2' /tmp/cut
}
export -f on_both answers cut lossy lossless has_netem
export weft rdma WEFT_NETWORK=ibv

python3 -B "$rdma/agent.py" serve > /dev/null &
check 'both hosts answer' 120 answers
check 'ring over 2 hosts' 120 prints '2000 hops' on_both 1 110 example-ring
check 'halo exchange over 2 hosts' 120 on_both 2 110 example-halo_exchange
check 'the link is to delay, reorder and lose' 10 lossy
check 'it does' 10 has_netem 1
check 'ring over a link that delays, reorders and loses' 240 prints '2000 hops' on_both 1 230 example-ring
check 'the link is to do so no more' 10 lossless
check 'it does not' 10 has_netem 0
# Within a host shared memory, between hosts libfabric.
export WEFT_NETWORK=mixed WEFT_REMOTE_NETWORK=ofi
check 'mixed job: 2 ranks on each of 2 hosts' 120 on_both 2 110 example-halo_exchange
check 'the link goes down' 110 cut
end
