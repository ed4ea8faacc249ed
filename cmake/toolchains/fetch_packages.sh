#!/usr/bin/env bash
# usage: fetch_packages.sh ARCHITECTURE FOLDER PACKAGE...
# Unpacks Debian packages of another architecture into FOLDER, for cross builds. Neither the packages nor the architecture become
# known to this system, and no rights are needed: apt gets lists and a cache of its own.
set -euo pipefail

(($# >= 3)) || {
  echo "fetch_packages.sh: needs an architecture, a folder and packages" >&2
  exit 2
}
architecture=$1 folder=$2
shift 2
wanted="$architecture $*"
[[ -e $folder/.packages && $(<"$folder/.packages") == "$wanted" ]] && exit 0

state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/root"
options=(-q -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture" -o "Dir::State=$state" -o "Dir::Cache=$state"
  -o Dir::State::status=/dev/null -o APT::Sandbox::User=root)
# Sources that have nothing for that architecture are reported, which is no failure.
apt-get "${options[@]}" update >"$state/log" 2>&1 || true
(cd "$state/archives" && apt-get "${options[@]}" download "$@") >>"$state/log" 2>&1 || {
  tail -n 20 "$state/log" >&2
  echo "fetch_packages.sh: apt-get could not download the packages for $architecture: $*" >&2
  exit 1
}
for package in "$state/archives"/*.deb; do dpkg-deb -x "$package" "$state/root"; done
printf '%s\n' "$wanted" >"$state/root/.packages"
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
mv "$state/root" "$folder"
