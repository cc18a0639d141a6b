#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# First process of the mirror's container: runs the cache of Debian's archive and the web server.
# USR1 halts both (the container stays, so that its address refuses connections at once), USR2 starts them again.
set -u

serve() {
    [ -z "$servers" ] || return 0
    # The cache's volume outlives the image and so its user ids.
    chown apt-cacher-ng:apt-cacher-ng /var/cache/apt-cacher-ng
    setpriv --reuid=apt-cacher-ng --regid=apt-cacher-ng --init-groups \
        apt-cacher-ng -c /opt/lab-mirror/acng ForeGround=1 &
    servers=$!
    nginx -c /opt/lab-mirror/nginx.conf &
    servers="$servers $!"
}

halt() {
    for server in $servers; do
        kill "$server"
        wait "$server"
    done
    servers=
}

servers=
trap halt USR1
trap serve USR2
trap 'halt; exit 0' TERM
serve
while :; do
    sleep infinity &
    idle=$!
    wait "$idle"
    kill "$idle" 2>/dev/null
done
