# What the jobs of the guests share. After `weft`: the folder of the build.
# The suite of networks sends ten messages of the class bulk without a poll, which has a quarter of the credits.
cd "$weft" || exit 3
export PATH=$weft/bin:$PATH FI_UNIVERSE_SIZE=8 WEFT_IBV_CREDITS=64 'WEFT_OFI_PROVIDER=verbs;ofi_rxm'

# check NAME SECONDS COMMAND...: runs the command, and says how it has ended and how long it took. Checks may run beside each other.
check() {
  local name="$WEFT_NETWORK: $1" limit=$2 begun=$SECONDS output
  output=$(mktemp)
  shift 2
  # In a shell of its own, to which functions are exported.
  if timeout -k 5 "$limit" bash -c '"$@"' "$name" "$@" > "$output" 2>&1; then
    echo "check: passed in $((SECONDS - begun)) s: $name"
    tail -n 3 "$output"
  else
    echo "check: FAILED with $? after $((SECONDS - begun)) s: $name"
    tail -n 25 "$output"
    touch /tmp/failed
  fi
}
# Ends the job, with success when no check has failed.
end() {
  [[ ! -e /tmp/failed ]]
  exit
}

# prints EXPECTED COMMAND...: the command prints that line.
prints() {
  local expected=$1
  shift
  "$@" > /tmp/printed && grep -qxF "$expected" /tmp/printed || { cat /tmp/printed; return 1; }
}
export -f prints
