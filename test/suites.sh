# Sourced by test/check and test/check-long: each suite as a function, and the table of their results.
# A suite writes all it has to say into its log under $logs; its tests are counted there.
# The caller sets $root, the checkout, and $logs.
# shellcheck shell=bash disable=SC2154

pg_config=${PG_CONFIG:-pg_config}
suite_limit=${PG_GPU_SUITE_LIMIT:-3600}
jobs=$(nproc 2>/dev/null || echo 1)

# The suites have their own server and locale, whatever the caller's environment names.
unset PGHOST PGPORT PGUSER PGDATABASE PGSERVICE PGOPTIONS PGPASSWORD PGAPPNAME
# They also take no jobs from the make that may have called them.
unset MAKEFLAGS MFLAGS MAKELEVEL
export LC_ALL=C

: "${PG_GPU_TEST_SEED:=20261121}"
: "${PG_GPU_TEST_ROUNDS:=1}"
# The folder of data that is not part of the sources. Tests that need it are skipped where it is missing.
: "${PG_GPU_DATA:=$root/../shared/data}"
export PG_GPU_TEST_SEED PG_GPU_TEST_ROUNDS PG_GPU_DATA

scratch=
small_disk=

# As make and make demo build, so that nothing is compiled again. Warnings are errors where the caller says so (.ci/run): a
# compiler newer than ours may have others, and they are shown.
build_flags=(WERROR="${WERROR:-0}" DEVICE_CODE=HERE)

limited() { timeout -k 60 "$suite_limit" "$@" </dev/null; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

# The user that runs servers: PostgreSQL refuses root.
server_user=$(id -un)
as_server=()
if [ "$(id -u)" -eq 0 ]; then
    server_user=postgres
    as_server=(setpriv --reuid=postgres --regid=postgres --init-groups)
fi

# ---- Counting --------------------------------------------------------------------------------------------
# Each prints: passed failed skipped.

count_tap() {
    awk '/^ok [0-9]/ { if (/# *[Ss][Kk][Ii][Pp]/) skipped++; else passed++ }
         /^not ok [0-9]/ { if (/# *TODO/) skipped++; else failed++ }
         # A file that dies, or runs fewer tests than it planned, has no line of its own.
         /^Result: FAIL/ { bad = 1 }
         END { if (bad && !failed) failed = 1; printf "%d %d %d\n", passed, failed, skipped }' "$1"
}

# PostgreSQL 15 writes "test name ... ok", 16 and later write "ok 1 - name".
count_regress() {
    awk '/^test .* \.\.\. ok/ || /^ok [0-9]/ { passed++ }
         /^test .* \.\.\. FAILED/ || /^not ok [0-9]/ { failed++ }
         END { printf "%d %d 0\n", passed, failed }' "$1"
}

count_ctest() {
    awk '/Test +#[0-9]+:.* Passed / { passed++ }
         /Test +#[0-9]+:.*\*\*\*Skipped/ { skipped++; next }
         /Test +#[0-9]+:.*\*\*\*/ { failed++ }
         END { printf "%d %d %d\n", passed, failed, skipped }' "$1"
}

count_layout() {
    awk '/^[0-9]+ files are laid out/ { passed = $1 }
         /^not laid out/ { failed++ }
         END { printf "%d %d 0\n", passed, failed }' "$1"
}

# test/versions writes a line a version. One that ended before its tests has no counts.
count_versions() {
    awk 'match($0, /[0-9]+ passed, [0-9]+ failed/) { split(substr($0, RSTART), n, /[^0-9]+/); passed += n[1]; failed += n[2] }
         $2 == "FAILED" && !/passed/ { failed++ }
         END { printf "%d %d 0\n", passed, failed }' "$1"
}

# The last line of suites that ran elsewhere.
count_last() {
    awk '/^[0-9]+ passed, [0-9]+ failed$/ { passed = $1; failed = $3 } END { printf "%d %d 0\n", passed, failed }' "$1"
}

# ---- Running ---------------------------------------------------------------------------------------------

# Does this suite run? All do, unless PG_GPU_SUITES names some.
wanted() {
    [ -z "${PG_GPU_SUITES:-}" ] || [[ " $PG_GPU_SUITES " = *" $1 "* ]]
}

# run_suite NAME COUNTER COMMAND...: one line says that it begins, and one how it went. Lanes call it side by side.
run_suite() {
    local name=$1 counter=$2 log=$logs/$1.log status=0 started=$SECONDS passed failed skipped verdict
    shift 2
    wanted "$name" || return 0
    printf '%-15s begins\n' "$name"
    echo "$counter" >"$logs/$name.running"
    "$@" >"$log" 2>&1 || status=$?
    rm "$logs/$name.running"
    read -r passed failed skipped < <("$counter" "$log")
    verdict=ok
    if [ $status -ne 0 ] || [ "$failed" -gt 0 ]; then
        verdict=FAILED
        [ "$failed" -gt 0 ] || failed=1
        [ $status -ne 124 ] || verdict="FAILED (stopped after $suite_limit s)"
    elif [ "$passed" -eq 0 ]; then
        # A suite that ran nothing has shown nothing.
        verdict='FAILED (no test ran)'
        failed=1
    fi
    record "$name" "$passed" "$failed" "$skipped" $((SECONDS - started)) "$verdict"
    printf '%-15s %5d passed, %d failed%s, %d s%s\n' "$name" "$passed" "$failed" \
        "$([ "$skipped" -eq 0 ] || echo ", $skipped skipped")" $((SECONDS - started)) \
        "$([ "$verdict" = ok ] || echo ": $verdict")"
}

# record NAME PASSED FAILED SKIPPED SECONDS RESULT: a line of the table.
record() { printf '%s|%s|%s|%s|%s|%s\n' "$@" >>"$logs/results"; }

# How far the suites are that run: the tests that have passed, or what is compiled of those that are compiled first.
tell_progress() {
    local file name counter passed percent line=
    for file in "$logs"/*.running; do
        # It may have ended meanwhile.
        counter=$(cat "$file" 2>/dev/null) || continue
        name=$(basename "${file%.running}")
        read -r passed _ < <("$counter" "$logs/$name.log")
        percent=
        [ "$passed" -gt 0 ] || percent=$(sed -nE 's/^\[ *([0-9]+%)\].*/\1/p' "$logs/$name.log" | tail -n 1)
        line+="${line:+, }$name ${percent:+compiled }${percent:-$passed}"
    done
    printf '      %d:%02d  %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$line"
}

# lane FUNCTION: its suites run beside those of other lanes. await_lanes waits for all. A lane that gets to its end leaves a
# file. What wait says of a process that ended long ago isn't asked: bash forgets it once a later child has the same number,
# and a run starts more processes than there are numbers.
lanes=()
lane() {
    rm -f "$logs/lane-$1"
    { "$1"; touch "$logs/lane-$1"; } &
    lanes+=("$1:$!")
}
await_lanes() {
    local lane broken= next=$((SECONDS + 15))
    for lane in "${lanes[@]}"; do
        while [ ! -e "$logs/lane-${lane%:*}" ] && kill -0 "${lane#*:}" 2>/dev/null; do
            sleep 0.5
            [ $SECONDS -lt $next ] || { tell_progress; next=$((SECONDS + 15)); }
        done
        [ -e "$logs/lane-${lane%:*}" ] || broken+=" ${lane%:*}"
    done
    lanes=()
    [ -z "$broken" ] || record lanes 0 1 0 0 "FAILED (ended before its suites:$broken)"
}

show_failures() {
    local log=$logs/$1.log file
    [ -e "$log" ] || return 0
    if grep -q '^make.*\*\*\*' "$log" && ! grep -q ' tests failed out of ' "$log"; then
        echo "---- what failed first in $log"
        "$root/contrib/scripts/first-error" "$log"
    fi
    # Of TAP and CTest, what failed may lie far before the end.
    local failure='^not ok|^# +Failed test|^ *[0-9]+/[0-9]+ Test .*\*\*\*[^S]'
    if grep -qE "$failure" "$log"; then
        echo "---- what failed first in $log"
        grep -m 8 -A 12 -E "$failure" "$log"
    fi
    echo "---- the end of $log"
    tail -n 60 "$log"
    for file in "$logs/$1/regression.diffs" "$logs/$1/output_iso/regression.diffs"; do
        [ ! -s "$file" ] || { echo "---- the beginning of $file"; head -n 80 "$file"; }
    done
    echo "----"
}

# The table, then the count of all tests.
print_table() {
    local name passed failed skipped seconds verdict total_passed=0 total_failed=0
    printf '\n%-15s %7s %7s %8s %8s  %s\n' suite passed failed skipped seconds result
    while IFS='|' read -r name passed failed skipped seconds verdict; do
        printf '%-15s %7d %7d %8d %8d  %s\n' "$name" "$passed" "$failed" "$skipped" "$seconds" "$verdict"
        total_passed=$((total_passed + passed))
        total_failed=$((total_failed + failed))
    done <"$logs/results"
    # Some ran side by side.
    printf '%-40s %8d\n' 'from the first to the last' "$SECONDS"
    printf '\n%d passed, %d failed\n' "$total_passed" "$total_failed"
}

# What failed, then the table. True when nothing failed.
print_results() {
    local name failed status=0
    for name in ${PG_GPU_SUITES:-}; do
        grep -q "^$name|" "$logs/results" || record "$name" 0 1 0 0 'FAILED (there is no such suite)'
    done
    while IFS='|' read -r name _ failed _; do
        if [ "$failed" -gt 0 ]; then
            status=1
            show_failures "$name"
        fi
    done <"$logs/results"
    print_table
    return $status
}

# ---- Before and after ------------------------------------------------------------------------------------

# Installs what is needed, builds and installs: the first line of the table. Ends the run when that fails.
build_and_install() {
    rm -rf "$logs"
    mkdir -p "$logs"
    if ! "$root/contrib/scripts/build-and-install" check "${build_flags[@]}"; then
        printf '\n0 passed, 1 failed\n'
        exit 1
    fi
    record build 0 0 0 "$SECONDS" ok
    printf '%-15s %d s\n' build "$SECONDS"
}

# The servers that tests start are run by a user who may not enter the checkout, so their files lie elsewhere.
set_up() {
    scratch=$(mktemp -d /tmp/pg_gpu-check.XXXXXX)
    chmod 755 "$scratch"
    mkdir "$scratch/tmp"
    cp -r "$root/test" "$scratch/test"
    mkdir "$scratch/contrib"
    cp -r "$root/contrib/monitoring" "$scratch/contrib/"
    mkdir "$scratch/doc"
    cp "$root/doc/managed-primary.md" "$scratch/doc/"
    if [ "$(id -u)" -eq 0 ]; then
        chown -R "$server_user" "$scratch"
    fi
    # For the tests of a full disk, where this machine lets us mount.
    mkdir "$scratch/small_disk"
    if as_root mount -t tmpfs -o "size=64m,mode=0700,uid=$(id -u "$server_user")" pg_gpu_test "$scratch/small_disk" 2>/dev/null; then
        small_disk=$scratch/small_disk
        export PG_GPU_SMALL_DISK=$small_disk
    fi
    PATH=$("$pg_config" --bindir):$PATH
    pgxs_test=$(dirname "$("$pg_config" --pgxs)")/../test
    start_cluster cluster
    start_cluster host
}

# A cluster of a lane's own: what one asks of the server process, others don't see.
# shellcheck source=test/suite_settings.sh
. "$root/test/suite_settings.sh"
start_cluster() {
    "$root/contrib/scripts/private-cluster" start "$logs/$1" --fast "${suite_settings[@]}"
}

# The cluster that a lane works with.
use_cluster() { eval "$("$root/contrib/scripts/private-cluster" env "$logs/$1")"; }

tear_down() {
    local lane pid pid_file cluster
    # A run that is interrupted leaves no lane behind.
    for lane in "${lanes[@]}"; do
        kill "${lane#*:}" 2>/dev/null || true
    done
    for cluster in cluster host; do
        if [ -e "$logs/$cluster/place" ]; then
            "$root/contrib/scripts/private-cluster" stop "$logs/$cluster" --remove || true
        fi
    done
    if [ -n "$small_disk" ]; then
        as_root umount "$small_disk" || true
    fi
    if [ -n "$scratch" ]; then
        # A suite that was stopped leaves its servers running.
        for pid_file in "$scratch"/work-*/tmp_check/*/pgdata/postmaster.pid; do
            if [ -e "$pid_file" ]; then
                "${as_server[@]}" pg_ctl stop -s -m immediate -D "$(dirname "$pid_file")" >/dev/null 2>&1 || true
            fi
        done
        rm -rf "$scratch"
    fi
}

# ---- The suites ------------------------------------------------------------------------------------------

# Releases of Debian after 12 lack clang-format 14, and others lay out some lines differently.
run_layout() {
    if [ -n "$(apt-cache madison clang-format-14 2>/dev/null)" ] || command -v clang-format-14 >/dev/null; then
        run_suite layout count_layout "$root/contrib/scripts/format" --check
    elif wanted layout; then
        record layout 0 0 1 0 'skipped: no clang-format 14 in this release'
    fi
}

unit() {
    limited make -C "$root" unit "${build_flags[@]}"
}

# The files of sql/ that are asked again with pg_gpu.path = host: all but those that set the path themselves before their first
# question and leave it at that, and so would do the same again.
files_of_any_path() {
    local file
    for file in "$root"/sql/*.sql; do
        if ! awk '/^SET pg_gpu\.path/ { set = 1 } set || /^(SELECT|EXPLAIN|WITH|TABLE|DECLARE|DO)/ { exit } END { exit !set }' "$file" ||
            grep -q '^RESET pg_gpu\.path' "$file"; then
            echo "$file"
        fi
    done
}

# regress NAME FILE..., isolation NAME: the folder of the outputs under $logs, and the tests.
regress() {
    local name=$1 tests
    shift
    mkdir -p "$logs/$name"
    mapfile -t tests < <(chosen "$@")
    (cd "$root" && limited "$pgxs_test/regress/pg_regress" --bindir="$("$pg_config" --bindir)" \
        --inputdir=. --outputdir="$logs/$name" --load-extension=pg_gpu --dbname=pg_gpu_regress "${tests[@]}")
}

isolation() {
    mkdir -p "$logs/$1"
    local tests
    mapfile -t tests < <(chosen "$root"/test/isolation/specs/*.spec)
    (cd "$root" && limited "$pgxs_test/isolation/pg_isolation_regress" --bindir="$("$pg_config" --bindir)" \
        --inputdir=test/isolation --outputdir="$logs/$1" --load-extension=pg_gpu \
        --dbname=pg_gpu_isolation "${tests[@]}")
}

# The names pg_regress knows its tests by; only those of $PG_GPU_SUITE_TESTS, when it names some.
chosen() {
    local file name
    for file in "$@"; do
        name=$(basename "${file%.*}")
        [ ! -e "$file" ] || [[ " ${PG_GPU_SUITE_TESTS:-$name} " != *" $name "* ]] || echo "$name"
    done
}

pgtap() {
    createdb pg_gpu_pgtap
    psql -X -q -v ON_ERROR_STOP=1 -d pg_gpu_pgtap -c 'CREATE EXTENSION pgtap' -c 'CREATE EXTENSION pg_gpu'
    (cd "$root" && limited pg_prove --verbose --dbname pg_gpu_pgtap test/pgtap/*.sql)
}

# Pages show what users see, whose requests cost what they do.
documentation() {
    (cd "$root" && PGOPTIONS='-c parallel_setup_cost=1000' limited test/documentation)
}

# The TAP files of a round, by the words of their headers "# suite: ...": check; host, those of check that are also run with
# pg_gpu.path = host; long, which only check-long runs.
tap_files() {
    local file words
    for file in "$root"/test/tap/t/*.pl; do
        words=" $(sed -n 's/^# suite: //p' "$file") "
        [[ $words != *" $1 "* ]] || basename "$file"
    done
}

# tap NAME FILE...: the files of $PG_GPU_TAP_FILES instead, when it names some. Each round has a folder of its own.
tap() {
    local status=0 name=$1 work=$scratch/work-$1 files
    shift
    files=("$@")
    # shellcheck disable=SC2086 # they may be patterns
    [ -z "${PG_GPU_TAP_FILES:-}" ] || mapfile -t files < <(cd "$root/test/tap/t" && ls -d $PG_GPU_TAP_FILES)
    # What another run that was stopped has left.
    rm -rf "$work"
    mkdir "$work"
    [ "$(id -u)" -ne 0 ] || chown "$server_user" "$work"
    (
        cd "$scratch"
        # The tests start servers of their own.
        unset PGHOST PGPORT PGUSER PGDATABASE
        export HOME=$scratch TMPDIR=$scratch/tmp
        export TESTDIR=$work TESTDATADIR=$work/tmp_check TESTLOGDIR=$work/tmp_check/log
        export PG_REGRESS=$pgxs_test/regress/pg_regress PERL5LIB=$pgxs_test/perl
        # How long a test waits for what must happen. On a busy machine that may be longer than PostgreSQL's three minutes.
        export PG_TEST_TIMEOUT_DEFAULT=${PG_TEST_TIMEOUT_DEFAULT:-400}
        # Tests wait more than they work.
        limited "${as_server[@]}" prove --verbose --timer --jobs $((jobs * 2)) -I test/tap/lib "${files[@]/#/test/tap/t/}"
    ) || status=$?
    mkdir -p "$logs/$name"
    cp -r "$work"/tmp_check/log/. "$logs/$name/" 2>/dev/null || true
    return $status
}

# A stress program finds a server in PGHOST and PGPORT, and says by its exit status how it went.
stress() {
    if limited "$1"; then
        echo "ok 1 - $(basename "$1")"
    else
        echo "not ok 1 - $(basename "$1")"
    fi
}

# versions VERSION...: the suites of pg_regress on other versions of PostgreSQL, each in a chroot of a release that has it, with
# its compiler.
versions() {
    as_root env PG_GPU_CHECK='WERROR=1 PG_GPU_SUITES="regress regress-host isolation pgtap" test/check' \
        timeout -k 60 "$suite_limit" "$root/test/versions" "$@" </dev/null
}

# Translated programs are ten times slower: of SQL, what asks each access method on all paths.
arm64() {
    as_root env PG_GPU_SUITE_TESTS='build server column_server grid_server text_server key_types text_search' \
        timeout -k 60 "$suite_limit" "$root/test/arm64" build unit regress </dev/null
}

# sanitized SANITIZERS TESTS [BUT]: unit tests whose names match, but for some, on the host engine.
sanitized() {
    local build=$root/build/sanitized-${1//,/-}
    # The CUDA runtime, were it linked, would have leaks of its own reported.
    limited cmake -S "$root" -B "$build" -DPG_GPU_TESTS=ON -DPG_GPU_STUDIES=ON -DPG_GPU_CUDA=OFF \
        -DPG_GPU_WERROR="${WERROR:-0}" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG='-O1 -g' -DPG_GPU_SANITIZE="$1" &&
        limited cmake --build "$build" --parallel "$jobs" &&
        TSAN_OPTIONS="suppressions=$root/test/unit/thread_sanitizer.supp" \
            limited ctest --test-dir "$build" --output-on-failure --parallel "$jobs" --tests-regex "$2" \
            --exclude-regex "${3:-no such test}"
}
