# Sourced by bench-sql-text after measure.sh: documents and queries of the shape of MS MARCO's passages, made in the server.
# shellcheck shell=bash disable=SC2154

# make_passages N: tables doc and query. The passages are 8,841,823; without stop words and stemmed they have 352,316,036 words, 2,660,824
# different ones (Lucene's index of them by Anserini). So lengths are log-normal with a mean of 39.8, and word r comes as often as 1 / (r + 20) says.
# Each session makes its part from a seed of its own, so the documents are the same wherever there are as many processors.
make_passages() {
    local documents=$1 sessions part pids=()
    sessions=$(nproc)
    quiet -c 'CREATE TABLE doc (id int, tsv tsvector)' -c 'CREATE TABLE query (n int, name text, all_of tsquery, any_of tsquery)'
    for ((part = 0; part < sessions; part++)); do
        quiet >/dev/null <<SQL &
SET synchronous_commit = off;
SELECT setseed($part / 1000.0);
INSERT INTO doc SELECT id, to_tsvector('simple', (SELECT string_agg('w' || floor(20 * power(133042.2, random()))::int - 19, ' ') FROM generate_series(1, words)))
FROM (SELECT id, least(greatest(1, exp(3.583 + 0.45 * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))::int), 400) AS words
      FROM generate_series(1 + $part * $documents::int8 / $sessions, ($part + 1) * $documents::int8 / $sessions) AS id) AS x;
SQL
        pids+=($!)
    done
    for part in "${pids[@]}"; do
        wait "$part"
    done
    # `plain` are words of which about one document in 15 to one in 10,000 has each; those of `matched` are frequent enough that some have all.
    quiet >/dev/null <<'SQL'
SELECT setseed(0.5);
INSERT INTO query SELECT n, name, string_agg('w' || word, ' & ')::tsquery, string_agg('w' || word, ' | ')::tsquery
FROM (SELECT n, name, floor(30 * power(CASE name WHEN 'plain' THEN 1000 ELSE 30 END, random()))::int AS word
      FROM (SELECT n, name, 2 + floor(least(3 * random() ^ 1.5, CASE name WHEN 'plain' THEN 2.9 ELSE 1.9 END))::int AS words
            FROM generate_series(0, 99) AS n, unnest(ARRAY['plain', 'matched']) AS name) AS x, generate_series(1, words)) AS y GROUP BY n, name;
CREATE INDEX query_n ON query (name, n);
SQL
}

# clients NAME WAY SETTINGS STATEMENT: as many sessions as processors for eight seconds, each asking queries by chance, of which the statement takes
# one as `asked`. Answers a second, and the 99th percentile of their times.
clients() {
    local name=$1 way=$2 settings=$3 statement=$4 folder rate late
    folder=$(mktemp -d "$cluster/clients.XXXXXX")
    printf '\\set n random(0, 99)\n%s;\n' "$statement" >"$folder/script.sql"
    if ! rate=$(PGOPTIONS="$settings" "$bindir/pgbench" -n -c "$(nproc)" -j "$(nproc)" -T 8 -l --log-prefix="$folder/log" -f "$folder/script.sql" 2>"$folder/errors" |
        sed -nE 's/^tps = ([0-9]+).*/\1/p'); then
        cat "$folder/errors" >&2
        exit 1
    fi
    late=$(cat "$folder"/log* | awk '{print $3 / 1000}' | sort -n | awk '{t[NR] = $1} END {printf "%.3f", t[int(NR * 0.99)]}')
    record "$name, $(nproc) sessions, 99 %" "$way" "$late" "$rate queries/s"
    rm -rf "$folder"
}

# within SECONDS NAME WAY SETTINGS STATEMENT: how long the statement takes. After so many seconds it is given up, and the status is 1.
within() {
    local limit=$1 name=$2 way=$3 settings=$4 statement=$5 output
    if [ "$limit" -le 0 ]; then
        record "$name" "$way" - 'no time was left'
        return 1
    fi
    if output=$(printf "%s;\nSET statement_timeout = '%ss';\n\\\\timing on\n%s;\n" "$settings" "$limit" "$statement" | quiet 2>"$cluster/errors"); then
        record "$name" "$way" "$(sed -nE 's/^Time: ([0-9.]+) ms.*/\1/p' <<<"$output")" ''
    elif grep -q 'statement timeout' "$cluster/errors"; then
        record "$name" "$way" - "not finished in $limit s"
        return 1
    else
        cat "$cluster/errors" >&2
        exit 1
    fi
}
