# Sourced by the scripts beside it that need PostgreSQL: puts pg_gpu from the bundle into the PostgreSQL that
# PG_CONFIG names, and starts a private cluster of it. Sets bindir, cluster and the variables of libpq.
# shellcheck shell=bash
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bundle=${PG_GPU_BUNDLE:-$root/.gpu}
pg_config=${PG_CONFIG:-pg_config}
export PG_CONFIG=$pg_config
results=${PG_GPU_RESULTS:-$root/bench/results}
# "host" tries these scripts out where there is no device.
path=${PG_GPU_SQL_PATH:-cuda}

if [ ! -e "$bundle/postgres/pg_gpu.so" ]; then
    echo "There is no pg_gpu.so in $bundle/postgres. Hint: make gpu-bundle, where PostgreSQL's headers are" >&2
    exit 1
fi
# shellcheck source=test/gpu/unpack.sh
. "$root/test/gpu/unpack.sh"
bindir=$("$pg_config" --bindir)
libdir=$("$pg_config" --pkglibdir)
# As new files, since another suite may be running the old ones.
cp --remove-destination "$bundle"/postgres/pg_gpu*.so "$bundle/bin/pg_gpu_server" "$libdir/"
cp --remove-destination "$bundle"/postgres/pg_gpu*.control "$bundle"/postgres/pg_gpu*.sql "$("$pg_config" --sharedir)/extension/"
PATH=$bindir:$PATH
# The server process finds the libraries it needs there.
export LD_LIBRARY_PATH=$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

cluster=$(mktemp -d /tmp/pg_gpu-sql.XXXXXX)
chmod 755 "$cluster"
stop_cluster() {
    "$root/contrib/scripts/private-cluster" stop "$cluster" --remove >/dev/null 2>&1 || true
    rm -rf "$cluster"
}
trap stop_cluster EXIT

# start_cluster [private-cluster's options]
start_cluster() {
    "$root/contrib/scripts/private-cluster" start "$cluster" --fast "$@"
    eval "$("$root/contrib/scripts/private-cluster" env "$cluster")"
}

# Without a device every request would be answered by another path, which here would hide that nothing was tested. Opening
# the device takes seconds where other processes open it at the same time: longer than a request waits.
require_path() {
    local answer deadline=$((SECONDS + 60))
    psql -X -q -c 'SET client_min_messages = warning' -c 'CREATE EXTENSION IF NOT EXISTS pg_gpu'
    until
        answer=$(psql -X -q -At -c "SET pg_gpu.path = $path" -c 'CREATE TEMP TABLE t AS SELECT 1 AS k' \
            -c 'CREATE INDEX t_k ON t USING gpu_kary (k)' \
            -c "SELECT count(*) FROM gpu.lookup('t_k', ARRAY[1])" 2>&1)
        [ "$answer" = 1 ]
    do
        if [ $SECONDS -ge $deadline ]; then
            printf '%s\n' "The $path path is not there:" "$answer" >&2
            tail -n 20 "$(cat "$cluster/place")/server.log" >&2
            exit 1
        fi
        sleep 1
    done
}
