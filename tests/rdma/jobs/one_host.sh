# All ranks in one guest, over each of the two networks.
# The transport of messages, by the suites that every network has to pass; of sleepers one is enough. Of the operations those that need
# it for what they do; not those that take long because they send much, which the double of verbs runs each night.
networks='-threads/*/2:threads/*/3:threads/*/4'
operations='SendReceive/1.*:FlowControl.a_*:FlowControl.handlers*:Classes/1.of_every_size*:over/ActiveMessages.*serial*/defaults'
# Over libfabric regions are reached by messages.
accesses='over/OneSided.*serial*/registered_by_key:over/OneSided.a_put_signals*/registered_by_key:over/RefusedAccess.*/registered_by_key'

# Counts the k-mers of real reads over verbs and over shared memory.
counted_alike() {
  zcat /usr/share/doc/bowtie2/examples/reads/reads_1.fq.gz | head -n 2000 > /tmp/reads.fq
  weft run -n 3 --timeout 100 -- weft-kmer -k 31 -o /tmp/verbs /tmp/reads.fq || return
  WEFT_NETWORK=shm weft run -n 2 --timeout 60 -- weft-kmer -k 31 -o /tmp/shm /tmp/reads.fq || return
  sort /tmp/verbs.counts > /tmp/verbs.sorted
  sort /tmp/shm.counts > /tmp/shm.sorted
  cmp /tmp/verbs.sorted /tmp/shm.sorted && [[ $(wc -l < /tmp/shm.counts) -gt 1000 ]]
}

# killed: one of three ranks gets signal 9 amid traffic; the other two end what concerned it, and go on.
killed() {
  weft run -n 3 --keep-going -- "$weft/bin/tests/failure_rank" traffic --messages 3 > /tmp/killed 2>&1 &
  local job=$! victim rank
  # Each rank tells its process when its traffic begins.
  for ((i = 0; i < 300; ++i)); do
    [[ $(grep -c '^pid [0-9]* rank [0-9]*$' /tmp/killed) == 3 ]] && break
    sleep 0.2
  done
  sleep 3
  victim=$(pgrep -n -x failure_rank) && kill -9 "$victim"
  wait "$job"
  local code=$?
  cat /tmp/killed
  rank=$(sed -n "s/^pid $victim rank //p" /tmp/killed)
  [[ $code == 137 && -n $rank ]] &&
    grep -qF "weft run: 1 of 3 ranks failed: rank $rank (pid $victim) was killed by signal 9 (SIGKILL)" /tmp/killed &&
    [[ $(grep -cxF "survived rank $rank" /tmp/killed) == 2 ]] && ! grep -q 'have not ended' /tmp/killed
}

export -f killed counted_alike
export weft

# Ranks in processes of their own.
programs() {
  check 'the network is there' 30 bash -c 'weft info | grep "$1"' there "$1"
  check 'ring of 3 ranks' 60 prints '3000 hops' weft run -n 3 --timeout 55 -- example-ring
  check 'halo exchange of 4 ranks' 60 weft run -n 4 --timeout 55 -- example-halo_exchange
  check 'messages of all sizes' 90 weft run -n 2 --timeout 85 -- "$weft/bin/tests/messages_rank" all-sizes --largest 300000
  check 'k-mers are counted' 170 counted_alike
  check 'a rank is killed' 90 killed
}
suites() {
  check 'conformance of the network' 240 "$weft/bin/tests/conformance-network" --gtest_brief=1 "--gtest_filter=$networks"
  check 'conformance of operations' 400 "$weft/bin/tests/conformance-operations" --gtest_brief=1 "--gtest_filter=$operations$1"
}

WEFT_NETWORK=ofi programs 'verbs;ofi_rxm'
WEFT_NETWORK=ibv programs rxe0
# Mostly one thread each: beside each other they have both processors of the guest.
WEFT_NETWORK=ofi suites '' &
WEFT_NETWORK=ibv suites ":$accesses"
wait
end
