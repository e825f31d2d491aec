# Sourced by the stress programs: runs TAP files with more time or more rounds than test/check gives them.
# shellcheck shell=bash
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
pg_config=${PG_CONFIG:-pg_config}

# run_tap FILE...: runs them as a user that PostgreSQL accepts, in a folder of its own. The last line is a short
# summary.
run_tap() {
    local pgxs_test scratch status=0 as_server=()
    pgxs_test=$(dirname "$("$pg_config" --pgxs)")/../test
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/pg_gpu-stress.XXXXXX")
    cp -r "$root/test/tap" "$scratch/tap"
    mkdir "$scratch/work"
    if [ "$(id -u)" -eq 0 ]; then
        chmod 755 "$scratch"
        chown -R postgres "$scratch"
        as_server=(setpriv --reuid=postgres --regid=postgres --init-groups)
    fi
    (
        cd "$scratch"
        # The tests start servers of their own.
        unset PGHOST PGPORT PGUSER PGDATABASE
        export HOME=$scratch TMPDIR=$scratch TESTDIR=$scratch/work
        PATH=$("$pg_config" --bindir):$PATH
        export PATH
        export PG_REGRESS=$pgxs_test/regress/pg_regress PERL5LIB=$pgxs_test/perl
        "${as_server[@]}" prove -I tap/lib "${@/#/tap/t/}"
    ) || status=$?
    if [ $status -eq 0 ]; then
        rm -rf "$scratch"
        echo "$(basename "$0"): passed"
    else
        echo "$(basename "$0"): failed, logs are in $scratch/work/tmp_check/log"
    fi
    return $status
}
