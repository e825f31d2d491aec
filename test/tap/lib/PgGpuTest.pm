package PgGpuTest;

# What pg_gpu's TAP tests share.
#
#   use PgGpuTest;
#   my $node = new_cluster('main');                  # started, CREATE EXTENSION pg_gpu done
#   my $node = new_cluster('main', streaming => 1, conf => "wal_level = logical\n");
#   my $s    = new_session($node);                   # a psql that stays connected
#   my $out  = $s->query_safe('SELECT 1');           # dies on an error
#   like(query_error($s, 'SELECT 1/0'), qr/zero/);   # the error's text
#   my $r    = new_random();                         # seeded from PG_GPU_TEST_SEED
#   for my $round (1 .. test_rounds()) { ... }       # PG_GPU_TEST_ROUNDS, default 1
#
#   uses_index($node, 'SELECT ... ', 't_k', 'Index Only Scan', 'test name');
#
#   install_checker($node);                          # once a database
#   check_queries($node, 'test name', 't_k',
#       [ { sql => 'SELECT k, id FROM t WHERE k < 5', mode => 'index' }, ... ]);
#   check_functions($node, 'test name', table => 't', index => 't_k', type => 'int4');
#   check_sound($node, 'test name', 't_k');          # gpu.verify finds nothing
#
# Wherever a function takes $node it takes a session from new_session as well,
# so that a check can run inside an open transaction.
# PgGpuTest::Queries makes lists of queries for check_queries.

use strict;
use warnings;

use Cwd ();
use File::Temp ();

my $bindir;

# What pg_config tells of an option, '--pkglibdir' for one, of the PostgreSQL that is tested. PG_CONFIG names it, or PATH where that is not set.
sub configured
{
	my ($option) = @_;
	my $pg_config = $ENV{PG_CONFIG} || 'pg_config';
	chomp(my $value = `$pg_config $option`);
	die "cannot run $pg_config $option\n" unless $value;
	return $value;
}

BEGIN
{
	# Debian keeps initdb and friends out of PATH, and PostgreSQL::Test wants
	# to be told where pg_regress is.
	$bindir = configured('--bindir');
	$ENV{PATH} = "$bindir:$ENV{PATH}";
	if (!$ENV{PG_REGRESS})
	{
		$ENV{PG_REGRESS} = configured('--pgxs');
		$ENV{PG_REGRESS} =~ s{/makefiles/pgxs\.mk$}{/test/regress/pg_regress};
	}
	# The checkout may belong to somebody else than the user who runs this.
	if (!$ENV{TESTDIR} && !-w Cwd::getcwd())
	{
		$ENV{TESTDIR} = File::Temp::tempdir(CLEANUP => 1);
	}
}

use Exporter 'import';
use JSON::PP ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use PgGpuTest::Random;
use PgGpuTest::Template;

our @EXPORT = qw(
  configured new_cluster new_session query_error
  test_seed test_rounds few_or_many every_or_some new_random
  uses_index install_checker check_queries check_functions check_sound check_path
);

# --- Seeds and rounds -------------------------------------------------------

# Returns the seed of this run, which is always the same unless the environment asks for another.
sub test_seed
{
	return $ENV{PG_GPU_TEST_SEED} || 20261121;
}

# How many rounds a test that can go on for ever should run.
sub test_rounds
{
	return $ENV{PG_GPU_TEST_ROUNDS} || 1;
}

# How often one round repeats something: the first number in check, the second where PG_GPU_TEST_ROUNDS asks for more.
sub few_or_many
{
	my ($few, $many) = @_;
	return test_rounds() > 1 ? $many : $few;
}

# Returns what a round goes through: all of it, or every second one with PG_GPU_TEST_HALF. check sets that where it runs
# the same test a second time, on another path.
sub every_or_some
{
	my $number = 0;
	return $ENV{PG_GPU_TEST_HALF} ? grep { $number++ % 2 == test_seed() % 2 } @_ : @_;
}

# Makes a generator seeded with test_seed() + $offset, and prints the seed, so that a failure can be repeated.
sub new_random
{
	my ($offset) = @_;
	my $seed = test_seed() + ($offset || 0);
	note("PG_GPU_TEST_SEED=$seed");
	return PgGpuTest::Random->new($seed);
}

# --- Clusters and sessions --------------------------------------------------

# With PG_GPU_TEST_PATH, makes sure that this path has answered.
sub check_path
{
	my ($node) = @_;
	my $path = $ENV{PG_GPU_TEST_PATH} or return;
	cmp_ok($node->safe_psql('postgres', "SELECT coalesce(sum(requests), 0) FROM gpu.stat
		WHERE path = '$path' AND request IN ('lookup', 'range', 'count', 'count boxes', 'search boxes', 'match',
			'count rows', 'count values', 'match rows', 'search', 'intersect')"), '>', 0, "the $path path has answered");
	return;
}

# A new cluster. Options:
#   conf      => text appended to postgresql.conf
#   streaming => 1 to allow base backups and standbys (WAL level replica)
#   start     => 0 to leave it stopped; then the extension isn't created either
#   extension => 0 not to create the extension in database postgres
#   checksums => 0 for pages without checksums, which have them from PostgreSQL 18 on unless initdb is told otherwise
# Autovacuum is off: what a test does must follow from its seed alone. A request to the server process may take a minute, so that
# on a busy machine, too, it answers what it is asked; tests of a process that doesn't answer have a shorter time.
sub new_cluster
{
	my ($name, %option) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	init_from_template($node,
		allows_streaming => $option{streaming} || 0,
		no_data_checksums => defined $option{checksums} && !$option{checksums},
		extra => [ '--locale=C', '--encoding=UTF8' ]);
	$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
log_statement = none
shared_buffers = 64MB
max_connections = 40
max_prepared_transactions = 10
max_wal_size = 2GB
checkpoint_timeout = 1h
jit = off
wal_init_zero = off
timezone = 'UTC'
pg_gpu.request_timeout = 60s
CONF
	# With this a standby that falls behind, or a primary that crashes, finds its WAL.
	$node->append_conf('postgresql.conf', "wal_keep_size = 8GB\n") if $option{streaming};
	# The server process is asked about small tables, too. Where everything goes there, runs below this size are left to
	# the session, so that both answer.
	my $smallest = $ENV{PG_GPU_TEST_PATH} ? 600 : 0;
	$node->append_conf('postgresql.conf', "pg_gpu.min_mirror_entries = $smallest\n");
	$node->append_conf('postgresql.conf', "pg_gpu.path = $ENV{PG_GPU_TEST_PATH}\n") if $ENV{PG_GPU_TEST_PATH};
	$node->append_conf('postgresql.conf', $option{conf}) if $option{conf};
	return $node if defined $option{start} && !$option{start};
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_gpu')
	  unless defined $option{extension} && !$option{extension};
	return $node;
}

# A psql that stays connected, for what needs a session: open transactions,
# cursors, temporary tables. See PostgreSQL::Test::BackgroundPsql; end it with
# ->quit. Notices are off, because query_safe takes any of them for an error.
sub new_session
{
	my ($node, $database) = @_;
	my $session =
	  $node->background_psql($database || 'postgres', on_error_stop => 0);
	$session->set_query_timer_restart;    # the timeout is meant for a query, not for a session
	$session->query_safe('SET client_min_messages = warning');
	return $session;
}

# Returns the error (and DETAIL and HINT) that a statement raises; '' when it raises none.
sub query_error
{
	my ($where, $sql) = @_;
	if ($where->isa('PostgreSQL::Test::Cluster'))
	{
		my ($rc, $out, $err) = $where->psql('postgres', $sql);
		return $err;
	}
	$where->query($sql);
	my $error = $where->{stderr};
	$where->{stderr} = '';
	return $error;
}

# Returns the output of a statement, from a node or a session; dies on an error.
sub _output
{
	my ($where, $sql) = @_;
	return $where->isa('PostgreSQL::Test::Cluster')
	  ? $where->safe_psql('postgres', $sql)
	  : $where->query_safe($sql);
}

# Returns a string as a SQL literal.
sub _literal
{
	my ($string) = @_;
	$string =~ s/'/''/g;
	$string =~ s/\\/\\\\/g;
	return "E'$string'";
}

# --- Assertions -------------------------------------------------------------

# Passes when the plan of $sql reads $index through a node of type $node_type:
# 'Index Scan', 'Index Only Scan' or 'Bitmap Index Scan'.
sub uses_index
{
	my ($where, $sql, $index, $node_type, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $plan = _output($where, "EXPLAIN (FORMAT JSON, COSTS OFF) $sql");
	my @queue = JSON::PP->new->decode($plan)->[0]{Plan};
	while (my $node = shift @queue)
	{
		return pass($name)
		  if $node->{'Node Type'} eq $node_type
		  && ($node->{'Index Name'} || '') eq $index;
		push @queue, @{ $node->{Plans} || [] };
	}
	fail($name);
	diag("no $node_type using $index in the plan of: $sql\n$plan");
	return 0;
}

# Passes when gpu.verify, which compares the index with itself and the heap, finds nothing.
sub check_sound
{
	my ($where, $name, $index) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $problems = _output($where,
		"SELECT * FROM gpu.verify(" . _literal($index) . "::regclass, true) LIMIT 10");
	return is($problems, '', $name);
}

# Runs each query through the index in the asked mode and once more through a
# sequential scan, in the server, and compares. Each query is a hash:
#   sql      a SELECT whose first column is named k
#   mode     index, index_only, bitmap or count: the scan of $index the plan must show
#   ordered  true: k must come in the same order, and no Sort may be in the plan
#   settings more planner settings for the run through the index, e.g.
#            { enable_hashjoin => 'off' }
sub check_queries
{
	my ($where, $name, $index, $queries) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	die "no queries for $name" unless @$queries;
	my @documents = map {
		{
			sql => $_->{sql},
			mode => $_->{mode},
			ordered => $_->{ordered} ? JSON::PP::true() : JSON::PP::false(),
			settings => $_->{settings} || {},
		}
	} @$queries;
	my $json = JSON::PP->new->canonical->encode(\@documents);
	my $report = _output($where,
		"SELECT answer_check.report(" . _literal($index) . ", " . _literal($json) . "::jsonb)");
	is($report, scalar(@$queries) . ' queries compared', $name)
	  or diag('seed ' . test_seed());
	return $report;
}

# Compares gpu.count and gpu.lookup with SQL over the heap. Options:
#   table, index  names
#   type          int4 or int8
#   key           the indexed expression (default k)
#   where         a partial index's predicate (default true)
#   keys          reference to a list of keys to look up; undef is a NULL
#   bounds        reference to a list of [low, high]; undef is an open bound
sub check_functions
{
	my ($where, $name, %option) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $array = sub {
		return '{' . join(',', map { defined $_ ? $_ : 'NULL' } @_) . '}';
	};
	my @bounds = @{ $option{bounds} || [ [ undef, undef ] ] };
	my $report = _output(
		$where,
		sprintf(
			'SELECT answer_check.functions(%s, %s, %s, %s, %s, %s, %s, %s)',
			map { _literal($_) } $option{table},
			$option{index},
			$option{type},
			$option{key} || 'k',
			$option{where} || 'true',
			$array->(@{ $option{keys} || [] }),
			$array->(map { $_->[0] } @bounds),
			$array->(map { $_->[1] } @bounds)));
	is($report, '', $name) or diag('seed ' . test_seed());
	return $report;
}

# Creates the functions that check_queries and check_functions call, in schema
# answer_check of database postgres.
sub install_checker
{
	my ($node) = @_;
	$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA answer_check;

-- Leaves the planner one way to read a table, until the transaction's end.
CREATE FUNCTION answer_check.force(mode text) RETURNS void LANGUAGE sql AS $$
  SELECT set_config('max_parallel_workers_per_gather', '0', true),
         set_config('enable_seqscan', CASE WHEN mode IN ('heap', 'any') THEN 'on' ELSE 'off' END, true),
         set_config('enable_indexscan', CASE WHEN mode IN ('index', 'index_only', 'count', 'count_rows', 'any') THEN 'on' ELSE 'off' END, true),
         set_config('enable_indexonlyscan', CASE WHEN mode IN ('index_only', 'count', 'any') THEN 'on' ELSE 'off' END, true),
         set_config('enable_bitmapscan', CASE WHEN mode IN ('bitmap', 'any') THEN 'on' ELSE 'off' END, true),
         set_config('enable_sort', CASE WHEN mode IN ('index', 'index_only') THEN 'off' ELSE 'on' END, true),
         set_config('pg_gpu.enable_count_scan', CASE WHEN mode IN ('count', 'count_rows', 'any') THEN 'on' ELSE 'off' END, true),
         set_config('pg_gpu.enable_query', CASE WHEN mode = 'any' THEN 'on' ELSE 'off' END, true),
         -- Otherwise the planner may call costs equal that differ by a tuple or two.
         set_config('cpu_tuple_cost', CASE WHEN mode IN ('count', 'count_rows') THEN '1000' ELSE '0.01' END, true);
$$;

-- NULL when the query gives the same answer through the index and through
-- the heap and the plan is the wanted one; else what is wrong. Answers are
-- compared by checksums, and rows fetched only to say where they differ.
CREATE FUNCTION answer_check.compare(query text, index_name text, mode text, ordered bool, settings jsonb)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  -- The aggregates take the rows in the order in which the plan delivers them.
  checksum constant text := CASE WHEN ordered THEN
    format('SELECT count(*), sum(hashtextextended(q::text, 0)), md5(string_agg(coalesce(q.k::text, ''-''), '','')) FROM (%s) AS q', query)
    ELSE format('SELECT count(*), sum(hashtextextended(q::text, 0)), '''' FROM (%s) AS q', query) END;
  rows constant text := format('SELECT array_agg(q.k::text), array_agg(q::text) FROM (%s) AS q', query);
  node constant text := CASE mode WHEN 'index' THEN 'Index Scan' WHEN 'count_rows' THEN 'Index Scan'
    WHEN 'index_only' THEN 'Index Only Scan' WHEN 'count' THEN 'Index Only Scan' WHEN 'bitmap' THEN 'Bitmap Index Scan' END;
  setting record;
  plan jsonb;
  index_sum record;
  heap_sum record;
  index_order text[];
  index_rows text[];
  heap_order text[];
  heap_rows text[];
BEGIN
  IF node IS NULL THEN
    RETURN format('unknown mode %s', mode);
  END IF;
  PERFORM answer_check.force(mode);
  FOR setting IN SELECT key, value FROM jsonb_each_text(settings) LOOP
    PERFORM set_config(setting.key, setting.value, true);
  END LOOP;
  EXECUTE 'EXPLAIN (FORMAT JSON, COSTS OFF) ' || checksum INTO plan;
  -- Some random conditions contradict each other, which the planner sees where they are equalities.
  IF NOT jsonb_path_exists(plan, '$.** ? (@."Node Type" == "Result" && @."One-Time Filter" == "false")') THEN
    IF NOT jsonb_path_exists(plan, '$.** ? (@."Node Type" == $node && @."Index Name" == $index)',
                             jsonb_build_object('node', node, 'index', index_name)) THEN
      RETURN format('the plan has no %s on %s: %s', node, index_name, plan);
    END IF;
    IF mode IN ('count', 'count_rows') AND NOT jsonb_path_exists(plan, '$.** ? (@."Custom Plan Provider" == "GpuCount")') THEN
      RETURN format('the plan has no count scan: %s', plan);
    END IF;
    IF ordered AND jsonb_path_exists(plan, '$.** ? (@."Node Type" == "Sort" || @."Node Type" == "Incremental Sort")') THEN
      RETURN format('the plan sorts: %s', plan);
    END IF;
  END IF;
  EXECUTE checksum INTO index_sum;

  PERFORM answer_check.force('heap');
  FOR setting IN SELECT key FROM jsonb_each_text(settings) LOOP
    PERFORM set_config(setting.key, (SELECT reset_val FROM pg_settings WHERE name = setting.key), true);
  END LOOP;
  EXECUTE 'EXPLAIN (FORMAT JSON, COSTS OFF) ' || checksum INTO plan;
  IF jsonb_path_exists(plan, '$.** ? (@."Index Name" == $index)', jsonb_build_object('index', index_name)) THEN
    RETURN format('the plan to compare with uses the index too: %s', plan);
  END IF;
  EXECUTE checksum INTO heap_sum;
  PERFORM answer_check.force('any');
  IF index_sum IS NOT DISTINCT FROM heap_sum THEN
    RETURN NULL;
  END IF;

  EXECUTE rows INTO heap_order, heap_rows;
  PERFORM answer_check.force(mode);
  FOR setting IN SELECT key, value FROM jsonb_each_text(settings) LOOP
    PERFORM set_config(setting.key, setting.value, true);
  END LOOP;
  EXECUTE rows INTO index_order, index_rows;
  FOR setting IN SELECT key FROM jsonb_each_text(settings) LOOP
    PERFORM set_config(setting.key, (SELECT reset_val FROM pg_settings WHERE name = setting.key), true);
  END LOOP;
  PERFORM answer_check.force('any');
  RETURN format('%s; missing: %s; too many: %s; order differs from row %s',
    format('%s through the index, %s through the heap', index_sum, heap_sum),
    (SELECT string_agg(r, ' ') FROM (SELECT unnest(heap_rows) AS r EXCEPT ALL SELECT unnest(index_rows) LIMIT 5) AS m),
    (SELECT string_agg(r, ' ') FROM (SELECT unnest(index_rows) AS r EXCEPT ALL SELECT unnest(heap_rows) LIMIT 5) AS e),
    CASE WHEN ordered THEN
      (SELECT min(i) FROM generate_series(1, greatest(cardinality(index_order), cardinality(heap_order))) AS i
       WHERE index_order[i] IS DISTINCT FROM heap_order[i]) END);
END
$$;

-- Compares a list of queries; returns 'n queries compared' or the first problems.
CREATE FUNCTION answer_check.report(index_name text, queries jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  query jsonb;
  problem text;
  problems text[] := '{}';
BEGIN
  FOR query IN SELECT * FROM jsonb_array_elements(queries) LOOP
    BEGIN
      problem := answer_check.compare(query->>'sql', index_name, query->>'mode',
                                      (query->>'ordered')::bool, query->'settings');
    EXCEPTION WHEN OTHERS THEN
      problem := format('error %s: %s', sqlstate, sqlerrm);
    END;
    IF problem IS NOT NULL THEN
      problems := problems || format('[%s] %s: %s', query->>'mode', query->>'sql', problem);
    END IF;
  END LOOP;
  IF problems = '{}' THEN
    RETURN format('%s queries compared', jsonb_array_length(queries));
  END IF;
  RETURN format(E'%s problems\n%s', cardinality(problems), array_to_string(problems[1:10], E'\n'));
END
$$;

-- Compares gpu.count and gpu.lookup with the heap; returns '' or the problems.
CREATE FUNCTION answer_check.functions(table_name text, index_name text, type_name text, key text, predicate text,
                                       keys text, low text, high text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  lows text[] := low;
  highs text[] := high;
  problems text[] := '{}';
  found text[];
  wanted text[];
  question record;
  plan jsonb;
  n_array bigint;
  n_record bigint;
  n_heap bigint;
BEGIN
  PERFORM answer_check.force('heap');
  FOR i IN 1 .. cardinality(lows) LOOP
    EXECUTE format('SELECT count(*) FROM %s WHERE (%s)', table_name, predicate)
      || CASE WHEN lows[i] IS NULL THEN '' ELSE format(' AND %s >= %L::%s', key, lows[i], type_name) END
      || CASE WHEN highs[i] IS NULL THEN '' ELSE format(' AND %s <= %L::%s', key, highs[i], type_name) END
      INTO n_heap;
    EXECUTE format('SELECT gpu.count(%1$L, ARRAY[%2$L::%4$s], ARRAY[%3$L::%4$s]),'
                   ' gpu.count(%1$L, row(%2$L::%4$s), row(%3$L::%4$s))', index_name, lows[i], highs[i], type_name)
      INTO n_array, n_record;
    IF n_array IS DISTINCT FROM n_heap OR n_record IS DISTINCT FROM n_heap THEN
      problems := problems || format('gpu.count from %s to %s: %s with arrays, %s with records, should be %s',
                                     coalesce(lows[i], 'open'), coalesce(highs[i], 'open'), n_array, n_record, n_heap);
    END IF;
  END LOOP;
  EXECUTE format('SELECT array_agg(format(''(%%s,%%s)'', u.ordinal, t.ctid) ORDER BY u.ordinal, t.ctid)'
                 ' FROM unnest(%L::%s[]) WITH ORDINALITY AS u(v, ordinal) JOIN %s AS t ON %s = u.v WHERE %s',
                 keys, type_name, table_name, key, predicate) INTO wanted;
  -- The function is asked alone, joined with its table by a lookup join, and by a TID scan for each row.
  FOR question IN
    SELECT * FROM (VALUES
      ('gpu.lookup', format('SELECT array_agg(format(''(%%s,%%s)'', ordinal, tid) ORDER BY ordinal, tid)'
                            ' FROM gpu.lookup(%L, %L::%s[])', index_name, keys, type_name), 'Function Scan'),
      ('lookup join', format('SELECT array_agg(format(''(%%s,%%s)'', ordinal, t.ctid) ORDER BY ordinal, t.ctid)'
                             ' FROM gpu.lookup(%L, %L::%s[]) AS l JOIN %s AS t ON t.ctid = l.tid AND %s = (%L::%s[])[ordinal]',
                             index_name, keys, type_name, table_name, key, keys, type_name), 'GpuLookup'),
      ('TID scans', format('SELECT array_agg(format(''(%%s,%%s)'', ordinal, t.ctid) ORDER BY ordinal, t.ctid)'
                           ' FROM gpu.lookup(%L, %L::%s[]) AS l JOIN %s AS t ON t.ctid = l.tid',
                           index_name, keys, type_name, table_name), 'Tid Scan')) AS v (title, sql, node)
  LOOP
    PERFORM set_config('pg_gpu.enable_lookup_join', CASE question.node WHEN 'GpuLookup' THEN 'on' ELSE 'off' END, true),
            set_config('enable_nestloop', CASE question.node WHEN 'Tid Scan' THEN 'on' ELSE 'off' END, true),
            set_config('enable_hashjoin', 'off', true),
            set_config('enable_mergejoin', 'off', true),
            set_config('enable_seqscan', 'off', true);
    EXECUTE 'EXPLAIN (FORMAT JSON, COSTS OFF) ' || question.sql INTO plan;
    IF NOT jsonb_path_exists(plan, '$.** ? (@."Node Type" == $node || @."Custom Plan Provider" == $node)',
                             jsonb_build_object('node', question.node)) THEN
      problems := problems || format('%s: the plan has no %s: %s', question.title, question.node, plan);
    END IF;
    EXECUTE question.sql INTO found;
    IF found IS DISTINCT FROM wanted THEN
      problems := problems || format('%s: %s rows instead of %s; missing: %s; too many: %s', question.title,
        cardinality(found), cardinality(wanted),
        (SELECT string_agg(r, ' ') FROM (SELECT unnest(wanted) AS r EXCEPT ALL SELECT unnest(found) LIMIT 5) AS m),
        (SELECT string_agg(r, ' ') FROM (SELECT unnest(found) AS r EXCEPT ALL SELECT unnest(wanted) LIMIT 5) AS e));
    END IF;
  END LOOP;
  PERFORM set_config('pg_gpu.enable_lookup_join', 'on', true),
          set_config('enable_nestloop', 'on', true),
          set_config('enable_hashjoin', 'on', true),
          set_config('enable_mergejoin', 'on', true);
  PERFORM answer_check.force('any');
  RETURN array_to_string(problems, E'\n');
END
$$;
SQL
	return;
}

1;
