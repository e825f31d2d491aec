# suite: check host
# gpu_column under random histories of inserts, updates, deletes, vacuum, merges and crashes, on tables of random columns of
# all kinds of types: bitmap scans, counts by filters, histograms, summaries, dictionaries and aggregates as a sequential scan gives
# them, on the primary and on a standby whose replayed pages are compared with the primary's.
# PG_GPU_TEST_SEED and PG_GPU_TEST_ROUNDS choose other histories.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Columns;
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_cluster('primary', streaming => 1, conf => "wal_consistency_checking = 'all'\nmaintenance_work_mem = 1MB\n");
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my $random = new_random();

# Types that gpu_kary's tests don't have. Values are SQL strings without quotes.
my %others = (
	text => sub { $random->once_in(60) ? join('', map { $random->pick('a' .. 'f') x 50 } 1 .. 300) : $random->pick('', 'a', 'B', 'abc ', '%_') . $random->between(0, 300) },
	'varchar(20)' => sub { 'v' . $random->between(0, 1000) },
	'char(6)' => sub { $random->pick('x', 'y ', 'zz') . $random->between(0, 9) },
	name => sub { 'name' . $random->between(0, 20) },
	numeric => sub { $random->once_in(20) ? $random->pick('NaN', 'Infinity', '-Infinity', '1e300', '1e-300') : $random->between(-30, 30) / 4 . $random->pick('', '0', '00') },
	bytea => sub { '\\x' . join('', map { sprintf '%02x', $random->between(0, 3) } 1 .. $random->between(0, 4)) },
	interval => sub { $random->between(-40, 40) . $random->pick(' days', ' hours', ' months') },
	'int4[]' => sub { '{' . join(',', map { $random->once_in(6) ? 'NULL' : $random->between(0, 3) } 1 .. $random->between(0, 3)) . '}' },
	int4range => sub { my $low = $random->between(0, 9); "[$low," . ($low + $random->between(0, 5)) . ')' },
	jsonb => sub { '{"a": ' . $random->between(0, 9) . '}' },
	inet => sub { '10.0.' . $random->between(0, 3) . '.' . $random->between(0, 40) },
	mood => sub { $random->pick('sad', 'ok', 'happy') },
	money => sub { $random->between(-500, 500) / 4 },
	tsvector => sub { join ' ', map { 'w' . $random->between(0, 5) } 0 .. $random->between(0, 3) },);
my @types = (qw(bool "char" int2 int4 int8 oid date timestamp timestamptz time float4 float8 uuid macaddr), sort keys %others);
my %is_number = map { $_ => 1 } qw(int2 int4 int8 float4 float8 numeric);

sub value { my ($type) = @_; return $others{$type} ? $others{$type}->() : column_value($random, $type); }

sub literal { my ($type) = @_; return "'" . (value($type) =~ s/'/''/gr) . "'::$type"; }

sub row
{
	my ($columns) = @_;
	return join ', ', map { $random->once_in($_->{nulls}) ? 'NULL' : literal($_->{type}) } @$columns;
}

sub condition
{
	my ($column) = @_;
	my ($name, $type) = @$column{qw(name type)};
	my $case = $random->between(0, 9);
	return "$name IS NULL" if $case == 0;
	return "$name IS NOT NULL" if $case == 1;
	return "$name = ANY (ARRAY[" . join(', ', map { literal($type) } 1 .. $random->between(1, 6)) . "]::${type}[])" if $case == 2 && $type !~ /bool|\[\]/;
	if ($case <= 5 && $type =~ /text|char\(|name/)
	{
		my $pattern = $random->pick('a%', '%1%', 'v_2', '%', 'B2%', 'x', 'name1_', '%cc%', '^a', '[0-5]$', 'B');
		return "$name " . $random->pick('LIKE', 'NOT LIKE', 'ILIKE', 'NOT ILIKE', '~', '!~', '~*') . " '$pattern'";
	}
	my @operators = $type eq 'bool' ? qw(< <= >= >) : qw(< <= = = <> >= >);
	return "$name " . $random->pick(@operators) . ' ' . literal($type);
}

$primary->safe_psql('postgres', <<'SQL');
-- Scans, counts and functions are compared with plans without an index.
ALTER DATABASE postgres SET pg_gpu.enable_query = off;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
-- Returns what differs, as text; empty when nothing does.
CREATE FUNCTION scan_difference(tab text, condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM %I WHERE %s', tab, condition);
	by_index text;
	by_scan text;
	by_count text;
	counted bigint;
	plan json;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true);
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	-- From 17 on PostgreSQL scans nothing where equalities contradict each other.
	IF plan::text NOT LIKE format('%%"Index Name": "%s_i"%%', tab) AND plan::text NOT LIKE '%"One-Time Filter": "false"%' THEN
		RETURN format(E'%s: not by the index\n', condition);
	END IF;
	EXECUTE query INTO by_index;
	EXECUTE format('SELECT count(*) FROM %I WHERE %s', tab, condition) INTO by_count;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'off', true);
	EXECUTE query INTO by_scan;
	counted := gpu.count((tab || '_i')::regclass, condition);
	RETURN CASE WHEN by_index IS DISTINCT FROM by_scan OR by_count IS DISTINCT FROM split_part(by_scan, ' ', 1) THEN format(E'%s: %s and %s instead of %s\n', condition, by_index, by_count, by_scan)
		WHEN counted IS DISTINCT FROM split_part(by_scan, ' ', 1)::bigint THEN format(E'%s: gpu.count says %s instead of %s\n', condition, counted, by_scan) ELSE '' END;
END $$;
CREATE FUNCTION dictionary_difference(tab text, col text, type text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE format($q$SELECT string_agg(format('%%s has %%s instead of %%s', value, d, t), '; ') FROM
		(SELECT value, sum(d) AS d, sum(t) AS t FROM
			(SELECT value::%3$s, count AS d, 0 AS t FROM gpu.dictionary(%4$L, %2$L) UNION ALL SELECT %2$I, 0, count(*) FROM %1$I GROUP BY %2$I) AS both_sides GROUP BY value) AS joined
		WHERE d <> t$q$, tab, col, type, tab || '_i') INTO answer;
	RETURN CASE WHEN answer IS NULL THEN '' ELSE format(E'dictionary of %s: %s\n', col, answer) END;
END $$;
CREATE FUNCTION histogram_difference(tab text, col text, bins int, low float8, high float8, condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE format($q$SELECT string_agg(format('bin %%s has %%s instead of %%s', bin, h, t), '; ') FROM
		(SELECT bin, sum(h) AS h, sum(t) AS t FROM
			(SELECT bin, count AS h, 0 AS t FROM gpu.histogram(%4$L, %2$L, %5$s, %6$L, %7$L, %3$L)
			 UNION ALL
			 SELECT CASE WHEN v <> 'NaN' THEN width_bucket(v, %6$L, %7$L, %5$s) WHEN v = 'NaN' THEN %5$s + 2 END, 0, count(*)
			 FROM (SELECT %2$I::float8 AS v FROM %1$I WHERE %3$s) AS numbers GROUP BY 1) AS both_sides GROUP BY bin) AS joined
		WHERE h <> t$q$, tab, col, condition, tab || '_i', bins, low, high) INTO answer;
	RETURN CASE WHEN answer IS NULL THEN '' ELSE format(E'histogram of %s, %s bins, %s to %s, where %s: %s\n', col, bins, low, high, condition, answer) END;
END $$;
CREATE FUNCTION summary_difference(tab text, col text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	by_index text;
	by_scan text;
BEGIN
	EXECUTE format('SELECT format(''%%s rows, %%s NULLs, %%s values'', count, nulls, distinct_values) FROM gpu.summary(%L, %L)', tab || '_i', col) INTO by_index;
	EXECUTE format('SELECT format(''%%s rows, %%s NULLs, %%s values'', count(*), count(*) - count(%2$I), (SELECT count(*) FROM (SELECT 1 FROM %1$I WHERE %2$I IS NOT NULL GROUP BY %2$I) AS g)) FROM %1$I', tab, col) INTO by_scan;
	RETURN CASE WHEN by_index <> by_scan THEN format(E'summary of %s: %s instead of %s\n', col, by_index, by_scan) ELSE '' END;
END $$;
CREATE FUNCTION answer_of(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	answer text[];
BEGIN
	EXECUTE format('SELECT array_agg(q::text ORDER BY q::text COLLATE "C") FROM (%s) AS q', query) INTO answer;
	RETURN coalesce(answer, '{}');
EXCEPTION WHEN OTHERS THEN
	RETURN ARRAY['error ' || SQLSTATE];
END $$;
-- Whether GpuQuery answers; an empty text when its answer is the other plan's.
CREATE FUNCTION aggregate_difference(query text, OUT node int, OUT difference text) LANGUAGE plpgsql AS $$
DECLARE
	by_node text[];
	without text[];
	plan json;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('pg_gpu.enable_query', 'on', true),
		set_config('pg_gpu.path', CASE current_setting('pg_gpu.path', true) WHEN 'cuda' THEN 'cuda' ELSE 'host' END, true);
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	node := CASE WHEN plan::text LIKE '%"GpuQuery"%' THEN 1 ELSE 0 END;
	by_node := answer_of(query);
	PERFORM set_config('enable_seqscan', 'on', true), set_config('pg_gpu.enable_query', 'off', true);
	without := answer_of(query);
	difference := CASE WHEN by_node = without THEN '' ELSE format(E'%s: %s instead of %s\n', query,
		(SELECT array_agg(x) FROM (SELECT unnest(by_node) EXCEPT ALL SELECT unnest(without) LIMIT 3) AS s (x)),
		(SELECT array_agg(x) FROM (SELECT unnest(without) EXCEPT ALL SELECT unnest(by_node) LIMIT 3) AS s (x))) END;
END $$;
SQL

my ($table, @columns, $next_id, $node_answers);

sub insert_rows
{
	my ($count) = @_;
	my $rows = join ', ', map { '(' . $next_id++ . ', ' . row(\@columns) . ')' } 1 .. $count;
	return "INSERT INTO $table VALUES $rows;";
}

sub some_id { return $random->between(1, $next_id); }

sub step
{
	my $choice = $random->between(0, 13);
	return insert_rows($random->between(1, 300)) if $choice < 5;
	# This makes stretches of equal rows.
	return 'INSERT INTO ' . $table . ' SELECT ' . $next_id . ' + g, ' . row(\@columns) . ' FROM generate_series(1, ' . $random->between(1, 700) . ') AS g;' if $choice < 6;
	if ($choice < 8)
	{
		my ($low, $high) = sort { $a <=> $b } some_id(), some_id();
		return "DELETE FROM $table WHERE id BETWEEN $low AND $high AND id % " . $random->between(2, 12) . ' = 0;';
	}
	if ($choice < 10)
	{
		my ($id, $column) = (some_id(), $random->pick(@columns));
		return "UPDATE $table SET $column->{name} = " . literal($column->{type}) . " WHERE id BETWEEN $id AND $id + 50;";
	}
	return "BEGIN; " . insert_rows($random->between(1, 40)) . ' ROLLBACK;' if $choice < 11;
	return "VACUUM $table;" if $choice < 12;
	return "SELECT count(*) FROM gpu.merge('${table}_i');" if $choice < 13;
	return 'CHECKPOINT;';
}

# Of values that are equal but look different any one may be shown, so they are made to look alike.
sub shown
{
	my ($type, $expression) = @_;
	return "trim_scale($expression)" if $type eq 'numeric';
	return "$expression + 0::$type" if $type =~ /float/;
	return "extract(epoch FROM $expression)" if $type eq 'interval';
	return $expression;
}

sub key
{
	my ($column) = @_;
	my ($name, $type) = @$column{qw(name type)};
	return $random->pick("lower($name)", "length($name)", "left($name, 2)") if $type eq 'text' && $random->once_in(2);
	return $random->pick("$name % 7::$type", "$name / 5::$type", "coalesce($name, 3::$type)") if $type =~ /^int\d$/ && $random->once_in(2);
	return $random->pick("date_trunc('month', $name)", "extract(dow FROM $name)") if $type =~ /date|timestamp/ && $random->once_in(2);
	return shown($type, $name);
}

sub aggregate
{
	my ($name, $type) = @{ $random->pick(@columns) }{qw(name type)};
	my @functions = ('count');
	push @functions, 'min', 'max' if $type =~ /^(int\d|oid|date|time.*|float\d|text|varchar.*|char\(6\)|numeric|interval|inet|mood|money)$/;
	push @functions, 'sum', 'avg' if $type =~ /^(int\d|numeric)$/;
	push @functions, 'stddev', 'var_pop' if $type =~ /^int[24]$/;
	push @functions, 'bool_and', 'bool_or' if $type eq 'bool';
	my $function = $random->pick(@functions);
	my $filter = $random->once_in(3) ? ' FILTER (WHERE ' . condition($random->pick(@columns)) . ')' : '';
	return "count(*)$filter" if $random->once_in(5);
	return $function =~ /^m/ ? shown($type, "$function($name)$filter") : "$function($name)$filter";
}

sub aggregate_query
{
	my @keys = map { key($random->pick(@columns)) } 1 .. $random->between(0, 3);
	my $where = join $random->pick(' AND ', ' OR '), map { ($random->once_in(4) ? 'NOT ' : '') . '(' . condition($random->pick(@columns)) . ')' } 1 .. $random->between(1, 3);
	my $query = 'SELECT ' . join(', ', @keys, map { aggregate() } 1 .. $random->between(1, 4)) . " FROM $table";
	$query .= " WHERE $where" if $random->once_in(2);
	$query .= ' GROUP BY ' . join(', ', 1 .. @keys) if @keys;
	$query .= ' HAVING count(*) > ' . $random->between(0, 4) if $random->once_in(3);
	return $query;
}

sub check_all
{
	my ($node, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @asked;
	foreach my $number (1 .. 14)
	{
		my $where = join ' AND ', map { condition($random->pick(@columns)) } 1 .. $random->between(1, 3);
		$where = condition($columns[ $number - 1 ]) if $number <= @columns;
		push @asked, "scan_difference('$table', \$c\$$where\$c\$)";
	}
	foreach my $column (@columns)
	{
		my ($name, $type) = @$column{qw(name type)};
		push @asked, "dictionary_difference('$table', '$name', '$type')", "summary_difference('$table', '$name')" if $random->once_in(2);
		next unless $is_number{$type};
		my ($low, $high) = ($random->between(-20, 5) / 4, $random->between(6, 40) / 3);
		my $where = $random->once_in(2) ? condition($random->pick(@columns)) : 'true';
		push @asked, "histogram_difference('$table', '$name', " . $random->pick(1, 7, 256, 5000) . ", $low, $high, \$c\$$where\$c\$)";
	}
	my $wrong = $node->safe_psql('postgres', 'SELECT ' . join ' || ', @asked);
	is($wrong, '', "$what: answers") or diag('seed ' . test_seed());
	my $queries = join ', ', map { '($q$' . aggregate_query() . '$q$)' } 1 .. 12;
	my ($used, $differences) = split /\|/,
		$node->safe_psql('postgres', "SELECT sum(d.node), string_agg(d.difference, '') FROM (VALUES $queries) AS v (query), aggregate_difference(query) AS d"), 2;
	is($differences, '', "$what: aggregates") or diag('seed ' . test_seed());
	$node_answers += $used;
	check_sound($node, "$what: gpu.verify finds nothing", "${table}_i");
	return;
}

for my $round (1 .. 4 * test_rounds())
{
	$table = "t$round";
	$next_id = 1;
	my $width = $round == 4 ? 32 : $random->between(1, 7);
	@columns = map { { name => "c$_", type => $random->pick(@types), nulls => $random->pick(2, 10, 1000) } } 1 .. $width;
	my $names = join ', ', map { $_->{name} } @columns;
	$primary->safe_psql('postgres', "CREATE TABLE $table (id int, " . join(', ', map { "$_->{name} $_->{type}" } @columns) . ');'
		. insert_rows($random->between(0, 1) * 900 + 1) . "CREATE INDEX ${table}_i ON $table USING gpu_column ($names) WITH (fanout = 2);");
	note("$table: " . join(', ', map { $_->{type} } @columns));
	for my $part (1 .. 2)
	{
		$primary->safe_psql('postgres', step()) foreach 1 .. ($width > 10 ? 6 : 12);
		check_all($primary, "round $round, part $part");
	}
	$primary->wait_for_catchup($standby);
	check_all($standby, "round $round, standby");
	if ($round % 2 == 1)
	{
		$primary->stop('immediate');
		$primary->start;
		check_all($primary, "round $round, after a crash");
	}
	else
	{
		$primary->safe_psql('postgres', "REINDEX INDEX ${table}_i");
		check_all($primary, "round $round, built anew");
	}
}
unlike(slurp_file($standby->logfile), qr/inconsistent page/, "replayed pages equal the primary's");
check_path($primary);
cmp_ok($node_answers, '>', 0, 'aggregates were answered by the node');
$primary->stop('immediate');
$standby->promote;
$standby->safe_psql('postgres', step()) foreach 1 .. 5;
check_all($standby, 'promoted');
$standby->stop;
done_testing();
