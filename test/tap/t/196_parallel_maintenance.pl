# suite: check
# The statements that build indexes anew, on a table whose indexes of all access methods are built with parallel workers:
# a build that does in parallel mode what PostgreSQL forbids there fails in every one of them.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

# The postmaster writes a line for each worker that it starts.
my $node = new_cluster('parallel', conf => <<'CONF');
log_min_messages = debug1
max_worker_processes = 16
min_parallel_table_scan_size = 0
max_parallel_maintenance_workers = 1
CONF
$node->safe_psql('postgres', <<'SQL');
CREATE TEXT SEARCH CONFIGURATION mine (COPY = english);
CREATE FUNCTION twice(int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS 'BEGIN RETURN $1 * 2; END';
CREATE FUNCTION unsafe_words(text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS $$BEGIN RETURN to_tsvector('public.mine', $1); END$$;
CREATE FUNCTION unsafe_twice(int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS 'BEGIN RETURN $1 * 2; END';
CREATE TABLE item (id int, k int8, label text, place point, body text);
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO item SELECT g, g * 7919 % 1009, 'label ' || g % 30, point(g % 31, g % 17), 'running dog' || g % 7 || ' zebras' FROM generate_series(first, last) AS g
$$;
SELECT fill(1, 600);
SQL

# What each index is on, and a condition that it answers.
my %index = (
	kary => [ 'gpu_kary (k)', 'k < 300' ],
	kary_hash => [ 'gpu_kary (label gpu.hash_ops)', q{label = 'label 7'} ],
	kary_expression => [ 'gpu_kary (twice(k)) WHERE id % 3 = 0', 'twice(k) < 300 AND id % 3 = 0' ],
	grid => [ 'gpu_grid (place)', q{place <@ box '(3,3),(20,12)'} ],
	grid_expression => [ 'gpu_grid ((k::int4), twice(k)) WHERE id % 3 = 0', 'k::int4 < 300 AND twice(k) < 400 AND id % 3 = 0' ],
	column => [ 'gpu_column (k, label, id)', q{k < 300 AND label = 'label 7'} ],
	column_partial => [ 'gpu_column (k, label) WHERE id % 3 = 0', 'k < 300 AND id % 3 = 0' ],
	text => [ q{gpu_text (body) WITH (configuration = 'public.mine')}, q{body @@@ 'dog3 run'} ],
	text_expression => [ q{gpu_text (to_tsvector('public.mine', body))}, q{to_tsvector('public.mine', body) @@ 'dog3 & zebra'} ],
	text_partial => [ q{gpu_text ((body || '!')) WITH (configuration = 'english') WHERE id % 3 = 0}, q{(body || '!') @@@ 'dog3' AND id % 3 = 0} ]);
my %unsafe = (
	kary_unsafe => [ 'gpu_kary (unsafe_twice(k))', 'unsafe_twice(k) < 300' ],
	grid_unsafe => [ 'gpu_grid (unsafe_twice(k), k)', 'unsafe_twice(k) < 300 AND k < 100' ],
	column_unsafe => [ 'gpu_column (k, id) WHERE unsafe_twice(k) < 400', 'k < 100 AND unsafe_twice(k) < 400' ],
	text_unsafe => [ 'gpu_text (unsafe_words(body))', q{unsafe_words(body) @@ 'dog3 & zebra'} ]);

sub workers_since
{
	my ($log) = @_;
	my $started = () = slurp_file($node->logfile, $log) =~ /starting background worker process "parallel worker for PID/g;
	return $started;
}

# Runs a statement, which must build the indexes with workers, as many as there are indexes at least.
sub builds
{
	my ($name, $statement, $workers) = @_;
	my $log = -s $node->logfile;
	my ($rc, $out, $error) = $node->psql('postgres', $statement);
	is($error, '', $name);
	cmp_ok(workers_since($log), '>=', $workers, "$name: with workers");
	return;
}

sub answers
{
	my ($where, $table, $indexes) = @_;
	my $setting = join('', map { "SET enable_$_ = " . ($where eq 'index' ? 'on; ' : 'off; ') } 'indexscan', 'bitmapscan', 'indexonlyscan');
	$setting .= 'SET enable_seqscan = ' . ($where eq 'index' ? 'off; ' : 'on; ') . 'SET max_parallel_workers_per_gather = 0; ';
	$setting .= join('', map { "SET pg_gpu.enable_$_ = off; " } 'count_scan', 'query', 'search');
	return $node->safe_psql('postgres', $setting . join('; ', map { "SELECT '$_', count(*), sum(id) FROM $table WHERE $indexes->{$_}[1]" } sort keys %$indexes));
}

# All indexes of a table are valid and sound, and answer as a sequential scan.
sub sound
{
	my ($name, $table, $indexes) = @_;
	is( $node->safe_psql('postgres',
			"SELECT i, coalesce(v.problem, 'invalid') FROM gpu.indexes JOIN pg_index ON indexrelid = index_name, LATERAL (SELECT index_name AS i) AS n "
			  . "LEFT JOIN LATERAL gpu.verify(i) AS v ON true WHERE table_name = '$table'::regclass AND (v.problem IS NOT NULL OR NOT indisvalid)"),
		'', "$name: the indexes of $table are sound");
	is(answers('index', $table, $indexes), answers('table', $table, $indexes), "$name: and answer");
	return;
}

my $count = keys %index;
my $create = sub { my ($how, $table, $indexes) = @_; return join('; ', map { "CREATE INDEX $how ${table}_$_ ON $table USING $indexes->{$_}[0]" } sort keys %$indexes); };

builds('CREATE INDEX', $create->('', 'item', \%index), $count);
sound('CREATE INDEX', 'item', \%index);
$node->safe_psql('postgres', 'DROP INDEX ' . join(', ', map { "item_$_" } keys %index));
foreach my $name (sort keys %index)
{
	builds("CREATE INDEX CONCURRENTLY, $name", "CREATE INDEX CONCURRENTLY item_$name ON item USING $index{$name}[0]", 1);
}
sound('CREATE INDEX CONCURRENTLY', 'item', \%index);
$node->safe_psql('postgres', 'ALTER TABLE item ADD PRIMARY KEY (id); SELECT fill(1501, 1550); DELETE FROM item WHERE id % 10 = 4');

foreach my $statement (
	'REINDEX TABLE item', 'REINDEX TABLE CONCURRENTLY item', 'VACUUM FULL item', 'CLUSTER item USING item_pkey',
	'ALTER TABLE item ALTER COLUMN id TYPE int8', 'ALTER TABLE item SET UNLOGGED', 'ALTER TABLE item SET LOGGED')
{
	builds($statement, $statement, $count);
	sound($statement, 'item', \%index);
}
builds('TRUNCATE', 'BEGIN; TRUNCATE item; SELECT fill(1, 600); COMMIT', 0);
sound('TRUNCATE', 'item', \%index);

# In one transaction with what the build has to see, and undone.
builds('REINDEX in a transaction', q{BEGIN; ALTER INDEX item_text SET (configuration = 'german'); SELECT fill(2001, 2020); REINDEX TABLE item; ROLLBACK}, $count);
sound('REINDEX in a transaction', 'item', \%index);

# ---- functions that no worker may run ---------------------------------------------------------------------------------

my $log = -s $node->logfile;
$node->safe_psql('postgres', $create->('', 'item', \%unsafe));
$node->safe_psql('postgres', $_) foreach 'REINDEX TABLE CONCURRENTLY item', 'VACUUM FULL item';
my %both = (%index, %unsafe);
sound('unsafe functions', 'item', \%both);
$log = -s $node->logfile;
$node->safe_psql('postgres', "REINDEX INDEX item_$_") foreach sort keys %unsafe;
is(workers_since($log), 0, 'unsafe functions: without workers');

# ---- materialized views, partitions -----------------------------------------------------------------------------------

$node->safe_psql('postgres', 'CREATE MATERIALIZED VIEW seen AS SELECT * FROM item; CREATE UNIQUE INDEX ON seen (id)');
builds('a materialized view', $create->('', 'seen', \%index), $count);
$node->safe_psql('postgres', 'SELECT fill(3001, 3060)');
builds('REFRESH MATERIALIZED VIEW', 'REFRESH MATERIALIZED VIEW seen', $count);
sound('REFRESH MATERIALIZED VIEW', 'seen', \%index);
$node->safe_psql('postgres', 'SELECT fill(3201, 3240)');
builds('REFRESH MATERIALIZED VIEW CONCURRENTLY', 'REFRESH MATERIALIZED VIEW CONCURRENTLY seen', 0);
sound('REFRESH MATERIALIZED VIEW CONCURRENTLY', 'seen', \%index);

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE part (LIKE item) PARTITION BY RANGE (id);
CREATE TABLE part_low PARTITION OF part FOR VALUES FROM (0) TO (300);
CREATE TABLE part_high PARTITION OF part FOR VALUES FROM (300) TO (500);
INSERT INTO part SELECT * FROM item WHERE id < 500;
SQL
builds('an index of a partitioned table', $create->('', 'part', \%index), 2 * $count);
builds('REINDEX of partitions', 'REINDEX TABLE part', 2 * $count);
builds('REINDEX CONCURRENTLY of partitions', 'REINDEX TABLE CONCURRENTLY part', 2 * $count);
$node->safe_psql('postgres', 'CREATE TABLE part_rest (LIKE item); INSERT INTO part_rest SELECT * FROM item WHERE id >= 500');
builds('ATTACH PARTITION', 'ALTER TABLE part ATTACH PARTITION part_rest DEFAULT', $count);
foreach my $partition ('part_low', 'part_high', 'part_rest')
{
	sound('partitions', $partition, \%index);
}

$node->stop;
done_testing();
