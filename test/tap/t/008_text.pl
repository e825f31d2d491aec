# suite: check host
# gpu_text under a random history of inserts, updates, deletes, vacuum, merges and crashes: every score and the whole
# top 100 as BM25 written in SQL gives them over the same tsvectors, `@@` as a sequential scan, on the primary and on a
# standby whose replayed pages are compared with the primary's.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

note('PG_GPU_TEST_SEED=' . test_seed());
srand(test_seed() + 6);

my $primary = new_cluster('primary', streaming => 1, conf => "wal_consistency_checking = 'all'\nmaintenance_work_mem = 1MB\n");
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

# `counted` holds the entries that the index counts: those of dead rows until VACUUM removes them.
$primary->safe_psql('postgres', <<'SQL');
SET check_function_bodies = off;
CREATE FUNCTION vector_length(vector tsvector) RETURNS int8 LANGUAGE sql IMMUTABLE AS $$
	SELECT coalesce(sum(greatest(coalesce(cardinality(positions), 0), 1)), 0) FROM unnest(vector)
$$;
CREATE TABLE doc (id int PRIMARY KEY, tsv tsvector, length int8 GENERATED ALWAYS AS (vector_length(tsv)) STORED);
CREATE TABLE counted (LIKE doc INCLUDING GENERATED);
CREATE FUNCTION bm25(lexemes text[], most int, fewest int) RETURNS TABLE (tid tid, score real) LANGUAGE sql STABLE AS $$
	WITH total AS MATERIALIZED (SELECT count(*)::float8 AS n, sum(length)::float8 / count(*) AS avgdl FROM counted WHERE tsv IS NOT NULL),
	weight AS MATERIALIZED (
		SELECT lexeme, ln(1 + (n - df + 0.5::float8) / (df + 0.5::float8)) * (1.2::float8 + 1) * 4294967296 AS w
		FROM (SELECT lexeme, (SELECT count(*) FROM counted WHERE tsv @@ quote_literal(lexeme)::tsquery)::float8 AS df FROM unnest(lexemes) AS lexeme) AS x, total),
	posting AS MATERIALIZED (
		SELECT d.ctid AS tid, u.lexeme, greatest(coalesce(cardinality(u.positions), 0), 1)::float8 AS tf, d.length::float8 AS dl
		FROM doc AS d, unnest(d.tsv) AS u WHERE u.lexeme = ANY (lexemes)),
	score AS MATERIALIZED (
		SELECT p.tid, count(*) AS lexemes, sum(greatest(floor(w * tf / (tf + (1.2::float8 * (1 - 0.75::float8) + 1.2::float8 * 0.75 / avgdl * dl)) + 0.5), 1)::int8)::float8 AS units
		FROM posting AS p JOIN weight USING (lexeme), total GROUP BY p.tid)
	SELECT s.tid, (units / 4294967296)::real FROM score AS s WHERE s.lexemes >= fewest ORDER BY units DESC, s.tid LIMIT most
$$;
-- The same of any query, of which the terms that count are given, prefixes with :* behind them.
CREATE FUNCTION bm25_of_query(query tsquery, terms text[], most int) RETURNS TABLE (tid tid, score real) LANGUAGE sql STABLE AS $$
	WITH total AS MATERIALIZED (SELECT count(*)::float8 AS n, sum(length)::float8 / count(*) AS avgdl FROM counted WHERE tsv IS NOT NULL),
	term AS MATERIALIZED (SELECT term, rtrim(term, ':*') AS word, term LIKE '%:*' AS prefix FROM unnest(terms) AS term),
	weight AS MATERIALIZED (
		SELECT term, word, prefix, ln(1 + (n - df + 0.5::float8) / (df + 0.5::float8)) * (1.2::float8 + 1) * 4294967296 AS w
		FROM (SELECT term.*, least((SELECT count(*) FROM counted, unnest(tsv) AS u WHERE u.lexeme = word OR prefix AND starts_with(u.lexeme, word)), n)::float8 AS df, n FROM term, total) AS x),
	posting AS MATERIALIZED (
		SELECT d.ctid AS tid, term, w, sum(greatest(coalesce(cardinality(u.positions), 0), 1))::float8 AS tf, d.length::float8 AS dl
		FROM doc AS d, unnest(d.tsv) AS u, weight WHERE u.lexeme = word OR prefix AND starts_with(u.lexeme, word) GROUP BY d.ctid, d.length, term, w),
	score AS MATERIALIZED (
		SELECT p.tid, sum(greatest(floor(w * tf / (tf + (1.2::float8 * (1 - 0.75::float8) + 1.2::float8 * 0.75 / avgdl * dl)) + 0.5), 1)::int8)::float8 AS units
		FROM posting AS p, total GROUP BY p.tid)
	SELECT d.ctid, (coalesce(units, 0) / 4294967296)::real FROM doc AS d LEFT JOIN score AS s ON s.tid = d.ctid WHERE d.tsv @@ query
	ORDER BY coalesce(units, 0) DESC, d.ctid LIMIT most
$$;
CREATE FUNCTION tree_difference(query tsquery, terms text[]) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(format('%s: %s %s, %s %s', place, x.tid, x.score, y.tid, y.score), '; '), '')
	FROM (SELECT row_number() OVER () AS place, * FROM bm25_of_query(query, terms, 100)) AS x
	FULL JOIN (SELECT row_number() OVER () AS place, * FROM gpu.search('doc_tsv', query, 100, 'query')) AS y USING (place)
	WHERE (x.tid, x.score) IS DISTINCT FROM (y.tid, y.score)
$$;
-- Returns what differs, as text; empty when nothing does.
CREATE FUNCTION ranking_difference(query text, mode text) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(format('%s: %s %s, %s %s', place, x.tid, x.score, y.tid, y.score), '; '), '')
	FROM (SELECT row_number() OVER () AS place, * FROM bm25(string_to_array(query, ' '), 100,
			CASE mode WHEN 'and' THEN cardinality(string_to_array(query, ' ')) ELSE 1 END)) AS x
	FULL JOIN (SELECT row_number() OVER () AS place, * FROM gpu.search('doc_tsv', replace(query, ' ', ' & ')::tsquery, 100, mode)) AS y USING (place)
	WHERE (x.tid, x.score) IS DISTINCT FROM (y.tid, y.score)
$$;
SQL

my $vocabulary = 300;

# A lexeme; low numbers are frequent.
sub lexeme { return 'w' . int($vocabulary**rand()); }

# Returns a tsvector as a literal: NULL, empty, stripped, short, and now and then longer than a tail.
sub vector
{
	my $choice = int(rand(200));
	return 'NULL' if $choice < 3;
	return q{''::tsvector} if $choice < 6;
	my $words = join ' ', map { lexeme() } 1 .. 2 + int(rand(60));
	$words = join ' ', $words, map { "rare$_" } 1 .. 1500 if $choice == 6;
	my $vector = "to_tsvector('simple', '$words')";
	return $choice < 40 ? "strip($vector)" : $vector;
}

# Returns a tsquery; %$terms gets the terms that are under an even number of NOTs.
sub tree
{
	my ($depth, $positive, $terms) = @_;
	my $choice = $depth == 0 ? 0 : int(rand(10));
	if ($choice < 3)
	{
		my $kind = int(rand(12));
		my $word = $kind == 0 ? 'nothing' : lexeme();
		# Short ones begin many.
		$word = substr($word, 0, 2) if $kind == 1 || $kind == 2;
		my $prefix = $kind > 0 && $kind < 4;
		$terms->{ $word . ($prefix ? ':*' : '') } = 1 if $positive;
		return $word . ($prefix ? ':*' : $kind == 4 ? ':D' : $kind == 5 ? ':A' : '');
	}
	if ($choice == 3) { return '!(' . tree($depth - 1, !$positive, $terms) . ')'; }
	my $operator = $choice == 4 ? (' <-> ', ' <2> ')[ int(rand(2)) ] : $choice < 7 ? ' | ' : ' & ';
	return '(' . join($operator, map { tree($depth - 1, $positive, $terms) } 1 .. 2 + int(rand(2))) . ')';
}

my $next_id = 1;

sub insert_rows
{
	my ($count) = @_;
	my $first = $next_id;
	my $rows = join ', ', map { "($_, " . vector() . ')' } $first .. $first + $count - 1;
	$next_id += $count;
	return "INSERT INTO doc VALUES $rows; INSERT INTO counted SELECT id, tsv FROM doc WHERE id >= $first;";
}

sub some_id { return 1 + int(rand($next_id)); }

sub step
{
	my $choice = int(rand(12));
	if ($choice < 5) { return insert_rows(1 + int(rand(60))); }
	if ($choice < 7)
	{
		my ($low, $high) = sort { $a <=> $b } some_id(), some_id();
		my $divisor = 5 + int(rand(20));
		return "DELETE FROM doc WHERE id BETWEEN $low AND $high AND id % $divisor = 0;";
	}
	if ($choice < 9)
	{
		my ($id, $vector) = (some_id(), vector());
		return "WITH changed AS (UPDATE doc SET tsv = $vector WHERE id BETWEEN $id AND $id + 5 RETURNING id, tsv) INSERT INTO counted SELECT * FROM changed;";
	}
	if ($choice < 10) { return "VACUUM doc; TRUNCATE counted; INSERT INTO counted SELECT id, tsv FROM doc;"; }
	if ($choice < 11) { return "SELECT count(*) FROM gpu.merge('doc_tsv');"; }
	return 'CHECKPOINT;';
}

sub check_all
{
	my ($node, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $wrong = '';
	foreach my $mode ('or', 'and')
	{
		foreach my $words (1, 2, 4)
		{
			my %lexemes = map { (lexeme() => 1) } 1 .. $words;
			$lexemes{nothing} = 1 if rand() < 0.1;
			my $query = join ' ', sort keys %lexemes;
			my $difference = $node->safe_psql('postgres', "SELECT ranking_difference('$query', '$mode')");
			$wrong .= "$query by $mode: $difference\n" if $difference ne '';
		}
	}
	foreach my $tree (1 .. few_or_many(4, 12))
	{
		my %terms;
		my $query = tree(3, 1, \%terms);
		my $difference = $node->safe_psql('postgres', "SELECT tree_difference('$query', '{" . join(',', sort keys %terms) . "}')");
		$wrong .= "$query: $difference\n" if $difference ne '';
	}
	is($wrong, '', "$what: ranking");
	$wrong = '';
	my ($a, $b, $c) = (lexeme(), lexeme(), lexeme());
	foreach my $query ("$a", "$a & $b", "$a | $b & $c", "!$a", "$a & !$b", "$a <-> $b", "$a:*", "!($a <-> $b) & $c")
	{
		my $sql = "SELECT coalesce(string_agg(id::text, ',' ORDER BY id), '') FROM doc WHERE tsv @@ '$query'";
		my $answers = $node->safe_psql('postgres', join ';', 'SET enable_seqscan = off', 'SET enable_indexscan = off', $sql,
			'SET enable_indexscan = on', 'SET enable_bitmapscan = off', $sql, 'SET enable_seqscan = on', 'SET enable_indexscan = off', $sql);
		my ($bitmap, $plain, $sequential) = split /\n/, $answers, -1;
		$wrong .= "$query\n" if $bitmap ne $sequential || $plain ne $sequential;
	}
	is($wrong, '', "$what: matches");
	my $sets = $node->safe_psql('postgres', <<"SQL");
SET enable_indexscan = off; SET enable_bitmapscan = off;
WITH found AS (SELECT * FROM gpu.intersect('doc_tsv', '{$a,$b}') AS f (tid)), matching AS (SELECT ctid AS tid FROM doc WHERE tsv @@ '$a & $b')
SELECT (SELECT count(*) FROM (TABLE found EXCEPT TABLE matching) AS x), (SELECT count(*) FROM (TABLE matching EXCEPT TABLE found) AS x),
	(SELECT count(*) FROM gpu.search_batch('doc_tsv', ARRAY['$a & $b', NULL, '$c', '$a & $c']::tsquery[], 50, 'or') AS b
		FULL JOIN (SELECT 1 AS ordinal, * FROM gpu.search('doc_tsv', '$a & $b', 50, 'or') UNION ALL SELECT 3, * FROM gpu.search('doc_tsv', '$c', 50, 'or')
			UNION ALL SELECT 4, * FROM gpu.search('doc_tsv', '$a & $c', 50, 'or')) AS s USING (ordinal, tid, score) WHERE b IS NULL OR s IS NULL)
SQL
	is($sets, '0|0|0', "$what: intersections and batches");
	check_sound($node, "$what: gpu.verify finds nothing", 'doc_tsv');
	return;
}

my @codecs = ('bitpack', 'pfordelta', 'rice');
$primary->safe_psql('postgres', insert_rows(300));
for my $round (1 .. few_or_many(2, 3 * test_rounds()))
{
	my $codec = $codecs[ $round % @codecs ];
	$primary->safe_psql('postgres', "DROP INDEX IF EXISTS doc_tsv; CREATE INDEX doc_tsv ON doc USING gpu_text (tsv) WITH (codec = $codec, fanout = 2);
		VACUUM doc; TRUNCATE counted; INSERT INTO counted SELECT id, tsv FROM doc;");
	for my $part (1 .. 2)
	{
		$primary->safe_psql('postgres', step()) foreach 1 .. 12;
		check_all($primary, "round $round, $codec, part $part");
	}
	$primary->wait_for_catchup($standby);
	check_all($standby, "round $round, $codec, standby");
	if ($round % 2 == 1)
	{
		$primary->stop('immediate');
		$primary->start;
		check_all($primary, "round $round, $codec, after a crash");
	}
}
unlike(slurp_file($standby->logfile), qr/inconsistent page/, "replayed pages equal the primary's");
check_path($_) foreach ($primary, $standby);
$primary->stop('immediate');
$standby->promote;
$standby->safe_psql('postgres', step()) foreach 1 .. 5;
check_all($standby, 'promoted');
$standby->stop;
done_testing();
