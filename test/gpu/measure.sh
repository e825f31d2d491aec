# Sourced by the benchmarks of SQL after postgres.sh: times statements as psql sees them, keeps the lines, and writes
# them as a table and as JSON.
# shellcheck shell=bash disable=SC2154,SC2028
quiet() { psql -X -q -v ON_ERROR_STOP=1 -At "$@"; }

lines=()
# record STATEMENT WAY MILLISECONDS ANSWER
record() {
    lines+=("$1|$2|$3|$4")
    printf '%-34s %-8s %12s  %s\n' "$1" "$2" "$3" "$4" >&2
}

# measure NAME WAY SETTINGS QUERY [REPETITIONS]: the median time and the answer.
measure() {
    local name=$1 way=$2 settings=$3 query=$4 repetitions=${5:-9} output times answer
    output=$(
        {
            echo "$settings;"
            echo '\timing on'
            for _ in $(seq "$repetitions"); do echo "$query;"; done
        } | quiet 2>&1
    ) || { echo "$name, $way: $output" >&2; exit 1; }
    times=$(sed -nE 's/^Time: ([0-9.]+) ms.*/\1/p' <<<"$output" | tail -n 7 | sort -n | awk '{t[NR] = $1} END {print t[int((NR + 1) / 2)]}')
    answer=$(sed '/^Time:/d' <<<"$output" | sort -u | tr '\n' ' ' | cut -c1-120)
    record "$name" "$way" "${times:--}" "$answer"
}

# once NAME WAY SETTINGS STATEMENT: a statement that isn't repeated.
once() { measure "$1" "$2" "$3" "$4" 1; }

# write_results NAME ROWS: JSON in the results' folder, then the table.
write_results() {
    local name=$1 rows=$2 device commit file i time answer way line
    device=$(quiet -c 'SELECT name FROM gpu.devices() LIMIT 1')
    commit=$(sed -n 's/^commit //p' "$bundle/about" 2>/dev/null || true)
    mkdir -p "$results"
    file=$results/$(date -u +%Y-%m-%d)-$name-$(tr 'A-Z ' 'a-z-' <<<"$device" | sed 's/^nvidia-//; s/-.*//').json
    {
        printf '{\n  "date": "%s",\n  "commit": "%s",\n  "device": "%s",\n  "processors": %s,\n  "postgresql": "%s",\n  "rows": %s,\n  "lines": [\n' \
            "$(date -u +%Y-%m-%d)" "$commit" "$device" "$(nproc)" "$("$pg_config" --version)" "$rows"
        for i in "${!lines[@]}"; do
            IFS='|' read -r name way time answer <<<"${lines[$i]}"
            [ "$i" -eq 0 ] || printf ',\n'
            printf '    {"statement": "%s", "way": "%s", "milliseconds": %s, "answer": "%s"}' "$name" "$way" \
                "$([[ "$time" =~ ^[0-9.]+$ ]] && echo "$time" || echo null)" "$(sed 's/[\\"]/ /g; s/ *$//' <<<"$answer")"
        done
        printf '\n  ]\n}\n'
    } >"$file"
    echo
    printf '%-34s %-8s %12s  %s\n' statement way milliseconds answer
    for line in "${lines[@]}"; do
        IFS='|' read -r name way time answer <<<"$line"
        printf '%-34s %-8s %12s  %s\n' "$name" "$way" "$time" "$answer"
    done
}
