# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# The kernels ("lanes") that hytest is tested on, and where they are kept.
# To be sourced by the other scripts; it defines:
#
#   $top		the top of the source tree
#   $cache		where fetched things are kept: $HYTEST_CACHE, else build/cache
#   $lanes		the names of all lanes
#   lane_flavour L	the end of the names of L's meta packages
#   lane_root L		directory that L's packages are unpacked in
#   lane_need L		fetch L where it is absent

top=$(cd "$(dirname "$0")/.." && pwd)
cache=${HYTEST_CACHE:-$top/build/cache}
lanes="6.1 6.1-rt 6.12"

lane_flavour()
{
	case $1 in
	6.1)	echo amd64 ;;
	6.1-rt)	echo rt-amd64 ;;
	6.12)	echo 6.12-amd64 ;;
	*)	echo "${0##*/}: no lane '$1', there are: $lanes" >&2
		return 2 ;;
	esac
}

lane_root()
{
	echo "$cache/kernels/$1"
}

lane_need()
{
	lane_flavour "$1" >/dev/null || return
	[ -e "$(lane_root "$1")/release" ] || "$top/scripts/fetch-kernels" "$1" >&2
}
