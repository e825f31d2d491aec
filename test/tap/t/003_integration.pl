# suite: check
# Parts of PostgreSQL that lean on an index: joins of every kind, partition-wise joins, foreign keys, conflicts on
# other indexes, generated columns and domains. Each query through the index and through the heap.

use strict;
use warnings;

use Test::More;
use PgGpuTest;

my $node = new_cluster('main');
install_checker($node);
my $random = new_random();

# Returns SQL that makes random integers of a column: dense, with a few NULLs and repeated keys.
sub random_keys
{
	my ($rows, $spread) = @_;
	return sprintf('SELECT CASE WHEN random() > 0.02 THEN (random() * %d)::int END AS k, i FROM generate_series(1, %d) AS i',
		$spread, $rows);
}

sub run_sql
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', sprintf('SELECT setseed(%.6f); %s', $random->between(0, 999999) / 1000000, $sql));
}

# ---- Joins: one method at a time, all kinds of joins, int4 against int8 ---------------------------------------

run_sql(join(' ',
	'CREATE TABLE small (v int8, n int);',
	'INSERT INTO small ' . random_keys(300, 900) . ';',
	'CREATE TABLE big (k int4, id int);',
	'CREATE INDEX big_k ON big USING gpu_kary (k);',
	'INSERT INTO big ' . random_keys(9000, 3000) . ';',
	'DELETE FROM big WHERE id % 7 = 0;',
	'CREATE INDEX small_v ON small (v);'));
$node->safe_psql('postgres', 'VACUUM ANALYZE big; ANALYZE small;');
# These rows come after the VACUUM, so they aren't all-visible, and their keys are in the tail.
run_sql('INSERT INTO big ' . random_keys(400, 3000) . ';');

my %methods = (
	'nested loop' => { enable_hashjoin => 'off', enable_mergejoin => 'off', enable_material => 'off', enable_memoize => 'off' },
	'nested loop, memoized' => { enable_hashjoin => 'off', enable_mergejoin => 'off', enable_material => 'off' },
	'merge join' => { enable_hashjoin => 'off', enable_nestloop => 'off', enable_material => 'off' });

for my $method (sort keys %methods)
{
	my $settings = $methods{$method};
	my @queries;
	my $add = sub {
		my ($sql, %more) = @_;
		push @queries, { sql => $sql, mode => $_, settings => $settings, %more }
		  for $sql =~ /\bb\.id\b/ ? ('index') : ('index', 'index_only');
	};
	$add->('SELECT b.k, s.n FROM small s JOIN big b ON b.k = s.v');
	$add->('SELECT b.k, b.id, s.n FROM small s JOIN big b ON b.k = s.v WHERE b.k BETWEEN 100 AND 500');
	$add->('SELECT s.v AS k, s.n, b.id FROM small s LEFT JOIN big b ON b.k = s.v AND b.k > 200');
	$add->('SELECT s.v AS k, s.n FROM small s WHERE EXISTS (SELECT FROM big b WHERE b.k = s.v)');
	$add->('SELECT s.v AS k, s.n FROM small s WHERE NOT EXISTS (SELECT FROM big b WHERE b.k = s.v)');
	if ($method eq 'merge join')
	{
		$add->('SELECT coalesce(b.k, s.v) AS k, s.n, b.id FROM small s FULL JOIN big b ON b.k = s.v');
		$add->('SELECT b.k, s.n FROM small s RIGHT JOIN big b ON b.k = s.v');
		$add->('SELECT b.k, b.id, c.id AS other FROM big b JOIN big c ON b.k = c.k WHERE b.k < 300');
		$add->("SELECT b.k FROM small s JOIN big b ON b.k = s.v ORDER BY b.k $_", ordered => 1) for 'ASC', 'DESC';
	}
	else
	{
		$add->('SELECT b.k, s.n FROM small s JOIN big b ON b.k BETWEEN s.v AND s.v + 3');
		$add->('SELECT b.k, s.n FROM small s JOIN big b ON b.k = ANY (ARRAY[s.v, s.n, NULL])');
		$add->('SELECT l.k, s.n FROM small s, LATERAL (SELECT b.k FROM big b WHERE b.k >= s.v ORDER BY b.k LIMIT 2) AS l');
		$add->('SELECT max(l.m) AS k, s.n FROM small s, LATERAL (SELECT max(b.k) AS m FROM big b WHERE b.k < s.v) AS l GROUP BY s.n');
	}
	check_queries($node, $method, 'big_k', \@queries);
}
check_sound($node, 'the joined index is sound', 'big_k');

# ---- Partition-wise joins -----------------------------------------------------------------------------------

# Both sides are partitioned alike, by the key; one partition's index was made apart and attached.
for my $table ('left_side', 'right_side')
{
	run_sql(join(' ',
		"CREATE TABLE $table (k int8, id int) PARTITION BY RANGE (k);",
		"CREATE TABLE ${table}_1 PARTITION OF $table FOR VALUES FROM (0) TO (500);",
		"CREATE TABLE ${table}_2 (id int, k int8);",
		"CREATE INDEX ${table}_2_apart ON ${table}_2 USING gpu_kary (k);",
		"CREATE INDEX ${table}_k ON $table USING gpu_kary (k);",
		"ALTER TABLE $table ATTACH PARTITION ${table}_2 FOR VALUES FROM (500) TO (1000);",
		"CREATE TABLE ${table}_rest PARTITION OF $table DEFAULT;",
		"INSERT INTO $table " . random_keys(3000, 1200) . ';',
		"UPDATE $table SET k = k + 500 WHERE k BETWEEN 100 AND 150;",
		"DELETE FROM $table WHERE id % 5 = 0;"));
	$node->safe_psql('postgres', "VACUUM ANALYZE $table");
}
for my $index ('right_side_1_k_idx', 'right_side_2_apart', 'right_side_rest_k_idx')
{
	my @queries;
	for my $method ('nested loop', 'merge join')
	{
		my %settings = (%{ $methods{$method} }, enable_partitionwise_join => 'on');
		push @queries, { sql => $_, mode => 'index', settings => \%settings }
		  for (
			'SELECT r.k, l.id AS a, r.id FROM left_side l JOIN right_side r ON l.k = r.k',
			'SELECT r.k, l.id AS a, r.id FROM left_side l LEFT JOIN right_side r ON l.k = r.k AND l.id < r.id',
			'SELECT l.k, count(*) FROM left_side l JOIN right_side r ON l.k = r.k AND r.id > 50 GROUP BY l.k');
		push @queries, { sql => 'SELECT l.k FROM left_side l WHERE EXISTS (SELECT FROM right_side r WHERE r.k = l.k)',
			mode => 'index_only', settings => \%settings };
	}
	check_queries($node, "partition-wise joins with $index", $index, \@queries);
	check_sound($node, "$index is sound", $index);
}
my $joins = $node->safe_psql('postgres', join(' ',
	'SET enable_partitionwise_join = on; SET enable_hashjoin = off; SET enable_nestloop = off;',
	'EXPLAIN (COSTS OFF) SELECT * FROM left_side l JOIN right_side r ON l.k = r.k;'));
is(() = $joins =~ /Merge Join/g, 3, 'each pair of partitions is joined by itself');
# The order over partitions is merged from theirs, both ways.
check_queries($node, 'order over partitions', 'left_side_2_apart', [
	map { { sql => "SELECT k FROM left_side WHERE k > 300 ORDER BY k $_ LIMIT 700", mode => 'index_only', ordered => 1 } }
	  'ASC', 'DESC' ]);

# ---- Foreign keys, conflicts, generated columns, domains -----------------------------------------------------

$node->safe_psql('postgres', <<'SQL');
CREATE DOMAIN positive AS int8 CHECK (VALUE > 0);
CREATE TABLE customer (id int PRIMARY KEY);
CREATE TABLE purchase (
  id int PRIMARY KEY,
  customer positive,
  price int4 NOT NULL,
  taxed int8 GENERATED ALWAYS AS (price * 119) STORED,
  parent int REFERENCES purchase ON DELETE SET NULL,
  buyer int REFERENCES customer ON DELETE CASCADE ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED);
CREATE INDEX purchase_customer ON purchase USING gpu_kary (customer DESC);
CREATE INDEX purchase_taxed ON purchase USING gpu_kary (taxed);
CREATE INDEX purchase_parent ON purchase USING gpu_kary (parent) WHERE parent IS NOT NULL;
CREATE INDEX purchase_buyer ON purchase USING gpu_kary (buyer NULLS FIRST) WITH (fanout = 2);
INSERT INTO customer SELECT i FROM generate_series(1, 500) AS i;
SQL

my @indexes = (
	[ 'purchase_customer', 'customer', 'positive' ], [ 'purchase_taxed', 'taxed', 'int8' ],
	[ 'purchase_parent', 'parent', 'int4' ], [ 'purchase_buyer', 'buyer', 'int4' ]);
my %width = (customer => 400, taxed => 100_000, parent => 2500, buyer => 600);
for my $round (1 .. 4 * test_rounds())
{
	my $first = 1 + ($round - 1) * 600;
	my ($low, $high) = ($random->between(1, 200), $random->between(201, 500));
	my @steps = (
		"INSERT INTO purchase (id, customer, price, parent, buyer) SELECT i, 1 + i % 400, (random() * 900)::int, (SELECT max(id) FROM purchase WHERE id <= i * 7919 % $first),"
		  . " (SELECT id FROM customer ORDER BY md5((id + i)::text) LIMIT 1)"
		  . " FROM generate_series($first, $first + 599) AS i ON CONFLICT DO NOTHING;",
		"INSERT INTO purchase (id, customer, price) SELECT i, 1 + i % 9, (random() * 900)::int FROM generate_series($first + 500, $first + 620) AS i"
		  . " ON CONFLICT (id) DO UPDATE SET price = excluded.price + 1, customer = purchase.customer + 1000;",
		# Deletes cascade: parents vanish, and the rows that refer to them are found by index.
		"DELETE FROM customer WHERE id % 50 = " . $random->between(0, 49) . ';',
		"UPDATE customer SET id = id + 10000 WHERE id BETWEEN $low AND $low + 5;",
		"DELETE FROM purchase WHERE id BETWEEN $high AND $high + 40;",
		"UPDATE purchase SET price = price + 1 WHERE taxed % 7 = 0;",
		'BEGIN; SET CONSTRAINTS ALL DEFERRED; UPDATE purchase SET buyer = 99999 WHERE id % 90 = 1;'
		  . ' UPDATE purchase SET buyer = NULL WHERE buyer = 99999; COMMIT;');
	run_sql("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; $_") for @steps;
	$node->safe_psql('postgres', 'VACUUM purchase') if $round % 2;
	# A parent that is missing must be noticed, whatever the index says.
	is($node->safe_psql('postgres', 'SELECT count(*) FROM purchase p WHERE parent IS NOT NULL AND parent NOT IN (SELECT id FROM purchase)'
		. ' OR buyer IS NOT NULL AND buyer NOT IN (SELECT id FROM customer)'),
		'0', "round $round: no reference leads nowhere");
	for my $index (@indexes)
	{
		my ($name, $column, $type) = @$index;
		my $from = $random->between(1, $width{$column});
		my @wheres = (
			"$column = $from", "$column BETWEEN $from AND $from + " . int($width{$column} / 5), "$column > $from",
			"$column = ANY ('{" . join(',', map { $random->between(1, $width{$column}) } 1 .. 30) . "}')",
			"$column IS NOT NULL");
		push @wheres, "$column IS NULL" unless $column eq 'parent';
		push @wheres, "$column = $from" . '::positive' if $type eq 'positive';
		my @queries;
		for my $where (@wheres)
		{
			push @queries, { sql => "SELECT $column AS k, id, price FROM purchase WHERE $where", mode => $_ } for 'index', 'bitmap';
			push @queries, { sql => "SELECT $column AS k FROM purchase WHERE $where", mode => 'index_only' };
		}
		check_queries($node, "round $round: $name", $name, \@queries);
	}
	check_sound($node, "round $round: $_->[0] is sound", $_->[0]) for @indexes;
}
like(query_error($node, 'INSERT INTO purchase VALUES (100000, -1, 1)'), qr/positive_check/, "a domain's check");
like(query_error($node, 'INSERT INTO purchase (id, price, buyer) VALUES (100000, 1, 77777)'), qr/foreign key/, 'a foreign key');

# ---- What parallel workers read and log counts as the statement's -------------------------------------------

SKIP:
{
	skip 'pg_stat_statements is not installed', 5
	  if $node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_stat_statements'}) == 0;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_stat_statements'");
	$node->restart;
	$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pg_stat_statements;
CREATE TABLE tracked (k int8, x int4, y int4, v tsvector, filler text);
INSERT INTO tracked SELECT i, i % 100, i / 100, to_tsvector('simple', 'w' || i % 100), repeat('x', 900) FROM generate_series(1, 40000) AS i;
VACUUM tracked;
SQL
	my $pages = $node->safe_psql('postgres', q{SELECT pg_relation_size('tracked') / current_setting('block_size')::int});
	cmp_ok($pages, '>', 4000, 'catalogs and the index are nothing beside the table');
	my %columns = (gpu_kary => 'k', gpu_grid => 'x, y', gpu_column => 'k, x', gpu_text => 'v');
	foreach my $method (sort keys %columns)
	{
		$node->safe_psql('postgres', "SET max_parallel_maintenance_workers = 2; SET min_parallel_table_scan_size = 0; "
			  . "CREATE INDEX tracked_$method ON tracked USING $method ($columns{$method});");
		my $read = $node->safe_psql('postgres', "SELECT shared_blks_hit + shared_blks_read FROM pg_stat_statements WHERE query LIKE 'CREATE INDEX tracked_$method %'");
		cmp_ok($read, '>=', $pages, "$method: a parallel build's statement has read the whole table");
	}
}

$node->stop;
done_testing();
