# suite: check
# Statements cancelled at every point of their work, with an index of each access method: a clear error, nothing left behind,
# nothing lost, and the index usable. Small tables by default, millions of rows (and of equal keys) in a long run.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

sub cancel_node
{
	my ($name) = @_;
	note $name;
	return new_node($name, conf => q{
min_parallel_table_scan_size = 0
max_parallel_maintenance_workers = 0
shared_buffers = 64MB
});
}

# In a short run every second of some names: those that are left out of one access method's are among another's.
sub some_of
{
	my ($first, @names) = @_;
	return grep { few_or_many(($first++) % 2, 1) } sort @names;
}

# A merge worker that writes have asked for may be at work. It has its locks until it is done.
sub no_lock_is_left
{
	my ($node) = @_;
	return ok(wait_until(sub { return sql_value($node, q{SELECT count(*) FROM pg_locks WHERE locktype <> 'virtualxid' AND pid <> pg_backend_pid()}) eq '0' }),
		'no lock is left');
}

sub cancel_kary
{
	my $rows = few_or_many(60_000, rounds(100_000, 2_000_000));
	my $equal_rows = few_or_many(80_000, rounds(150_000, 10_000_000));

	my $node = cancel_node('gpu_kary');
	make_table($node, rows => $rows, keys => 10_000_000);
	$node->safe_psql(
		'postgres', qq{
	CREATE TABLE equal (id bigserial, k int8);
	INSERT INTO equal (k) SELECT 42 FROM generate_series(1, $equal_rows);
	CREATE INDEX equal_k ON equal USING gpu_kary (k);
	CREATE TABLE keys AS SELECT array_agg(k) AS list FROM t;
	});

	# Sizes of all files of the database: what a cancelled build leaves would show here.
	my $database_size = sub
	{
		$node->safe_psql('postgres', 'CHECKPOINT');
		return sql_value($node, 'SELECT pg_database_size(current_database())');
	};

	# ---- builds ----

	my $size = $database_size->();
	foreach my $table ('t', 'equal')
	{
		my $build = "CREATE INDEX built ON $table USING gpu_kary (k)";
		my %tries = (
			'serial' => "SET maintenance_work_mem = '256MB';",
			'little memory' => "SET maintenance_work_mem = '1MB';",
			'parallel' => "SET max_parallel_maintenance_workers = 2; SET maintenance_work_mem = '256MB';",
			'parallel, little memory' => "SET max_parallel_maintenance_workers = 2; SET maintenance_work_mem = '1MB';",);
		foreach my $name (some_of($table eq 't' ? 0 : 1, keys %tries))
		{
			next if $table eq 'equal' && $name =~ /^parallel$|^serial$/;
			break_statement($node, "build of $table, $name", settings => $tries{$name}, statement => $build,
				before => "ALTER TABLE $table SET (parallel_workers = 2)",
				after => 'DROP INDEX IF EXISTS built', long => 1);
		}
	}
	break_statement($node, 'build, concurrently', statement => 'CREATE INDEX CONCURRENTLY built ON t USING gpu_kary (k)',
		after => 'DROP INDEX IF EXISTS built', long => 1);
	break_statement($node, 'reindex', statement => 'REINDEX INDEX t_k', long => 1);

	# Catalogs may grow by a little; an index that stays behind is larger than this.
	cmp_ok($database_size->(), '<', $size + sql_value($node, q{SELECT pg_relation_size('t_k') / 2}),
		'cancelled builds leave no files behind');
	check_usable($node, 't', 'after cancelled builds', keys => 10_000_000);

	# writes

	foreach my $table ('t', 'equal')
	{
		my $few = int($rows / 4);
		my $key = $table eq 't' ? 'i * 1009 % 10000000' : '42';
		break_statement($node, "insert into $table",
			statement => "INSERT INTO $table (k) SELECT $key FROM generate_series(1, $few) AS i", long => 1);
		break_statement($node, "merge of $table", before => "INSERT INTO $table (k) SELECT $key FROM generate_series(1, 3000) AS i",
			statement => "SELECT count(*) FROM gpu.merge('${table}_k')", long => 1,
			undone => "SELECT count(*) > 1 FROM gpu.runs('${table}_k')");
		break_statement($node, "vacuum of $table", before => "DELETE FROM $table WHERE id % 20 = floor(random() * 20)",
			statement => "VACUUM (INDEX_CLEANUP ON) $table", long => 1);
		check_usable($node, $table, 'after cancelled writes', keys => 10_000_000);
	}

	# A cancelled statement inside a transaction takes back its own rows only.
	my $inside = sql($node, qq{
	BEGIN;
	INSERT INTO t (k) SELECT 20000000 FROM generate_series(1, 1500);
	SAVEPOINT s;
	DO \$\$ BEGIN
		SET LOCAL statement_timeout = 0;
		INSERT INTO t (k) SELECT 20000000 FROM generate_series(1, 3000);
		RAISE query_canceled;
	EXCEPTION WHEN query_canceled THEN NULL; END \$\$;
	INSERT INTO t (k) SELECT 20000000 FROM generate_series(1, 1500);
	COMMIT;
	SET enable_seqscan = off;
	SELECT count(*) FROM t WHERE k = 20000000;
	});
	is($inside->{err} . $inside->{out}, '3000', 'a cancel caught in a subtransaction takes back only its rows');

	# reads

	my $no_other = 'SET enable_seqscan = off; SET enable_sort = off;';
	my %reads = (
		'index-only scan' => [ "$no_other SET enable_bitmapscan = off;", 'SELECT count(*) FROM t WHERE k >= 0' ],
		'index scan, backwards' =>
		  [ "$no_other SET enable_indexonlyscan = off;", 'SELECT count(*) FROM (SELECT id FROM t ORDER BY k DESC OFFSET 0) AS s' ],
		'bitmap scan' => [ "$no_other SET enable_indexscan = off;", 'SELECT count(id) FROM t WHERE k >= 0' ],
		'array' => [ $no_other, 'SELECT count(*) FROM t, keys WHERE k = ANY (list)' ],
		'gpu.lookup' => [ '', q{SELECT count(*) FROM keys, gpu.lookup('t_k', list)} ],
		'gpu.lookup, equal keys' => [ '', q{SELECT count(*) FROM gpu.lookup('equal_k', ARRAY[42, 42])} ],
		'gpu.verify' => [ '', q{SELECT count(*) FROM gpu.verify('t_k', true)} ],
		'gpu.verify, equal keys' => [ '', q{SELECT count(*) FROM gpu.verify('equal_k', true)} ],
		'gpu.count' => [ '', q{SELECT gpu.count('t_k', ARRAY[0::int8], ARRAY[NULL::int8])} ],
		'equal keys' => [ $no_other, 'SELECT count(*) FROM equal WHERE k = 42' ],);

	# Rows of which no block is all-visible: every entry is looked up in the heap.
	$node->safe_psql('postgres', 'UPDATE t SET k = k WHERE id % 50 = 0');
	foreach my $name (some_of(0, keys %reads))
	{
		my ($settings, $statement) = @{ $reads{$name} };
		break_statement($node, $name, settings => $settings, statement => $statement, no_terminate => 1,
			long => $name =~ /verify|lookup|scan/ ? 1 : 0);
	}

	check_usable($node, 't', 'at the end', keys => 10_000_000);
	check_usable($node, 'equal', 'at the end');
	no_lock_is_left($node);
	$node->stop;
	return;
}

sub cancel_grid
{
	my $rows = few_or_many(60_000, rounds(80_000, 2_000_000));
	my $node = cancel_node('gpu_grid');
	$node->safe_psql('postgres', qq{
	CREATE TABLE spread (id bigserial, k int8, l int4, p point) WITH (parallel_workers = 2);
	INSERT INTO spread (k, l, p) SELECT i * 7919::int8 % 1000003, CASE WHEN i % 97 <> 0 THEN i % 1009 END, point(i * 7919::int8 % 10007, i * 104729::int8 % 9973)
	FROM generate_series(1, $rows) AS i;
	CREATE INDEX spread_kl ON spread USING gpu_grid (k, l);
	CREATE INDEX spread_p ON spread USING gpu_grid (p);
	CREATE TABLE same (id bigserial, k int8, p point);
	INSERT INTO same (k, p) SELECT 42, '(4,2)' FROM generate_series(1, $rows);
	CREATE INDEX same_kp ON same USING gpu_grid (k, p);
	});

	my $check_tables = sub
	{
		my ($when) = @_;
		check_sound($node, "$_ is sound $when", $_) foreach (qw(spread_kl spread_p same_kp));
		my %boxes = (spread => 'k BETWEEN 1000 AND 90000 AND l < 500', 'spread ' => q{p <@ box '(50,50),(3000,2000)'},
			same => q{k = 42 AND p <@ box '(0,0),(5,5)'});
		foreach my $table (sort keys %boxes)
		{
			my $query = "SELECT count(*), sum(id) FROM $table WHERE $boxes{$table}";
			is(sql_value($node, "SET enable_seqscan = off; $query"), sql_value($node, "SET enable_indexscan = off; SET enable_bitmapscan = off; $query"),
				"$boxes{$table} $when");
		}
		return;
	};

	my %columns = (spread => 'k, p, l', same => 'k, p');
	my %builds = (
		'serial' => "SET maintenance_work_mem = '256MB';",
		'little memory' => "SET maintenance_work_mem = '1MB';",
		'parallel' => "SET max_parallel_maintenance_workers = 2; SET maintenance_work_mem = '256MB';");
	foreach my $table (sort keys %columns)
	{
		foreach my $name (some_of($table eq 'same' ? 0 : 1, keys %builds))
		{
			break_statement($node, "build of $table, $name", settings => $builds{$name},
				statement => "CREATE INDEX built ON $table USING gpu_grid ($columns{$table})", after => 'DROP INDEX IF EXISTS built', long => 1);
		}
	}
	break_statement($node, 'build, concurrently', statement => 'CREATE INDEX CONCURRENTLY built ON spread USING gpu_grid (p, k)',
		after => 'DROP INDEX IF EXISTS built', long => 1);
	$check_tables->('after cancelled builds');

	my $few = int($rows / 4);
	my %new = (spread => "i, i % 1000, point(i % 9999, i % 777)", same => "42, 1, '(4,2)'");
	foreach my $table (sort keys %new)
	{
		my $insert = "INSERT INTO $table (k, " . ($table eq 'spread' ? 'l, p' : 'id, p') . ") SELECT $new{$table} FROM generate_series(1, ";
		my $index = $table eq 'spread' ? 'spread_kl' : 'same_kp';
		break_statement($node, "insert into $table", statement => "$insert $few) AS i", long => 1);
		break_statement($node, "merge of $table", before => "$insert 3000) AS i", statement => "SELECT count(*) FROM gpu.merge('$index')", long => 1,
			undone => "SELECT count(*) > 1 FROM gpu.runs('$index')");
		break_statement($node, "vacuum of $table", before => "DELETE FROM $table WHERE ctid = ANY (ARRAY(SELECT ctid FROM $table WHERE random() < 0.05))",
			statement => "VACUUM (INDEX_CLEANUP ON) $table", long => 1);
	}
	$check_tables->('after cancelled writes');

	# No block is all-visible, so that every entry is looked up in the table.
	$node->safe_psql('postgres', 'UPDATE spread SET id = id WHERE id % 20 = 0');
	my $no_other = 'SET enable_seqscan = off; SET enable_sort = off;';
	my $only = "$no_other SET enable_bitmapscan = off;";
	my %reads = (
		'index-only scan' => [ "$only SET pg_gpu.enable_count_scan = off;", 'SELECT count(*) FROM spread WHERE k >= 0' ],
		'index scan' => [ $only, 'SELECT sum(id) FROM spread WHERE k >= 0' ],
		'bitmap scan' => [ "$no_other SET enable_indexscan = off;", 'SELECT count(id) FROM spread WHERE k >= 0' ],
		'nearest neighbours' => [ $only, q{SELECT count(id) FROM (SELECT id FROM spread ORDER BY p <-> point '(500,500)' OFFSET 0) AS s} ],
		'nearest neighbours, index-only' => [ $only, q{SELECT count(d) FROM (SELECT p <-> point '(500,500)' AS d FROM spread ORDER BY 1 OFFSET 0) AS s} ],
		'nearest of identical points' => [ $only, q{SELECT count(id) FROM (SELECT id FROM same ORDER BY p <-> point '(500,500)' OFFSET 0) AS s} ],
		'count scan' => [ $only, 'SELECT count(*) FROM spread WHERE k >= 0 AND l >= 0' ],
		'gpu.count' => [ '', q{SELECT gpu.count('spread_kl', ROW(0, 0), ROW(NULL::int8, NULL::int4))} ],
		'gpu.verify' => [ '', q{SELECT count(*) FROM gpu.verify('spread_kl', true)} ],);
	foreach my $name (some_of(1, keys %reads))
	{
		my ($settings, $statement) = @{ $reads{$name} };
		break_statement($node, $name, settings => $settings, statement => $statement, no_terminate => 1, long => 1);
	}
	$check_tables->('at the end');
	no_lock_is_left($node);
	$node->stop;
	return;
}

sub cancel_text
{
	my $rows = few_or_many(8_000, rounds(12_000, 300_000));
	my $node = cancel_node('gpu_text');
	$node->safe_psql('postgres', qq{
	CREATE TABLE doc (id int, tsv tsvector) WITH (parallel_workers = 2);
	SELECT setseed(0.5);
	INSERT INTO doc SELECT i, to_tsvector('simple', (SELECT string_agg('w' || floor(20000 ^ random()), ' ') FROM generate_series(1, 20 + i % 2)))
	FROM generate_series(1, $rows) AS i;
	CREATE INDEX doc_tsv ON doc USING gpu_text (tsv);
	});

	my $check_table = sub
	{
		my ($when) = @_;
		check_sound($node, "doc_tsv is sound $when", 'doc_tsv');
		my $query = q{SELECT count(*), sum(id) FROM doc WHERE tsv @@ 'w7 & w1 | w1234'};
		is(sql_value($node, "SET enable_seqscan = off; $query"), sql_value($node, "SET enable_indexscan = off; SET enable_bitmapscan = off; $query"),
			"answers $when");
		return;
	};

	my %builds = (
		'serial' => "SET maintenance_work_mem = '256MB';",
		'little memory' => "SET maintenance_work_mem = '1MB';",
		'parallel' => "SET max_parallel_maintenance_workers = 2; SET maintenance_work_mem = '256MB';",
		'parallel, little memory' => "SET max_parallel_maintenance_workers = 2; SET maintenance_work_mem = '1MB';");
	break_statement($node, "build, $_", settings => $builds{$_}, statement => 'CREATE INDEX built ON doc USING gpu_text (tsv)',
		after => 'DROP INDEX IF EXISTS built', long => 1) foreach some_of(1, keys %builds);
	$check_table->('after cancelled builds');

	my $insert = 'INSERT INTO doc SELECT id + 1000000, tsv FROM doc LIMIT ';
	break_statement($node, 'insert', statement => $insert . int($rows / 8), long => 1);
	break_statement($node, 'merge', before => $insert . 2000, statement => q{SELECT count(*) FROM gpu.merge('doc_tsv')}, long => 1,
		undone => q{SELECT count(*) > 1 FROM gpu.runs('doc_tsv')});
	break_statement($node, 'vacuum', before => 'DELETE FROM doc WHERE ctid = ANY (ARRAY(SELECT ctid FROM doc WHERE random() < 0.05))',
		statement => 'VACUUM (INDEX_CLEANUP ON) doc', long => 1);
	$check_table->('after cancelled writes');
	$node->stop;
	return;
}

cancel_kary();
cancel_grid();
cancel_text();
done_testing();
