# suite: check host
# Random histories, then every form of query through the index and through the
# heap. The plan of each query is checked, so an index that isn't used is a
# failure too. PG_GPU_TEST_SEED and PG_GPU_TEST_ROUNDS choose other histories.

use strict;
use warnings;

use Test::More;
use PgGpuTest::Queries;
use PgGpuTest;

# These are the kinds of tables. spread says how wide the dense middle of the keys is, bulk how many rows a bulk insert
# adds at most.
my @kinds = (
	{ name => 'int4_plain', type => 'int4', order => 'ASC NULLS LAST', spread => 400, bulk => 1500 },
	{ name => 'int8_descending', type => 'int8', order => 'DESC NULLS FIRST', spread => 3000, bulk => 1500 },
	{ name => 'int4_nulls_first', type => 'int4', order => 'ASC NULLS FIRST', spread => 400, bulk => 1500, unlogged => 1 },
	{ name => 'int8_nulls_last', type => 'int8', order => 'DESC NULLS LAST', spread => 20000, bulk => 1500 },
	{ name => 'int8_partial', type => 'int8', order => 'ASC NULLS LAST', spread => 300, bulk => 1500, where => 'flag > 3' },
	{ name => 'int4_expression', type => 'int4', order => 'DESC NULLS FIRST', spread => 500, bulk => 1500, key => '(~ k)' },
	{ name => 'int8_binary', type => 'int8', order => 'ASC NULLS LAST', spread => 10000, bulk => 3000, fanout => 2 },
	{ name => 'int4_repeated', type => 'int4', order => 'ASC NULLS LAST', spread => 20, bulk => 1500, fanout => 2 },
);

my $node = new_cluster('main');
install_checker($node);

# A random transaction or command on a table. $quiet leaves out what would wait
# for another session's snapshot or lock.
sub random_step
{
	my ($random, $kind, $quiet) = @_;
	my $table = $kind->{name};
	my $index = "${table}_k";
	my $key = sub {
		return $random->once_in(12) ? 'NULL' : "'" . $random->key($kind->{type}, $kind->{spread}) . "'";
	};
	my $insert_few = sub {
		return "INSERT INTO $table (k, flag) VALUES "
		  . join(', ', map { '(' . $key->() . ', ' . $random->between(0, 9) . ')' } 1 .. $random->between(1, 15)) . ';';
	};
	my $insert_many = sub {
		my $rows = $random->between(50, $kind->{bulk});
		my $half = int($kind->{spread} / 2);
		return sprintf('SELECT setseed(%.6f);', $random->between(0, 999999) / 1000000)
		  . " INSERT INTO $table (k, flag) SELECT CASE WHEN random() > 0.03 THEN (random() * $kind->{spread})::int - $half END,"
		  . " (random() * 9)::int FROM generate_series(1, $rows);";
	};
	my $update_key = sub {
		return "UPDATE $table SET k = " . $key->() . ' WHERE id % 17 = ' . $random->between(0, 16) . ';';
	};
	my $update_shift = sub {
		# The rows move into the range that is being read, and none of them may move twice.
		return "UPDATE $table SET k = k + 1 WHERE k BETWEEN -5 AND 60;";
	};
	my $update_other = sub {
		return "UPDATE $table SET flag = (flag + 1) % 10 WHERE id % 11 = " . $random->between(0, 10) . ';';
	};
	my $update_unindexed = sub {
		# No indexed column changes, so most of these updates are heap-only.
		return "UPDATE $table SET note = note || 'x' WHERE id % 7 = " . $random->between(0, 6) . ';';
	};
	my $delete = sub {
		return $random->pick(
			"DELETE FROM $table WHERE id % 5 = " . $random->between(0, 4) . ';',
			"DELETE FROM $table WHERE k = " . $key->() . ';',
			"DELETE FROM $table WHERE k BETWEEN " . $random->between(-50, 0) . ' AND ' . $random->between(0, 20) . ';',
			"DELETE FROM $table WHERE id > (SELECT max(id) - 300 FROM $table);");
	};
	my @writes = (
		$insert_few, $insert_few, $insert_many, $insert_many, $insert_many,
		$update_key, $update_shift, $update_other, $update_unindexed, $delete);
	my $write = sub { return $random->pick(@writes)->() };

	my $copy = sub {
		my @rows = map { ($random->once_in(12) ? '\N' : $random->key($kind->{type}, $kind->{spread})) . "\t" . $random->between(0, 9) }
		  1 .. $random->between(100, 700);
		return "COPY $table (k, flag) FROM STDIN;\n" . join("\n", @rows) . "\n\\.\n";
	};
	# Truncating the heap waits seconds for a lock that the other session holds.
	my $truncate = $quiet ? 'TRUNCATE OFF' : 'TRUNCATE ON';
	my @steps = (
		$write, $write, $write, $write, $copy,
		sub { return 'BEGIN; ' . join(' ', map { $write->() } 1 .. 3) . ' ROLLBACK;' },
		sub { return 'BEGIN; ' . join(' ', map { $write->() } 1 .. 3) . ' COMMIT;' },
		sub {
			return 'BEGIN; ' . $write->() . ' SAVEPOINT a; ' . $write->() . ' SAVEPOINT b; ' . $write->()
			  . ' ROLLBACK TO a; ' . $write->() . ' COMMIT;';
		},
		sub { return "VACUUM ($truncate) $table;" },
		sub { return "VACUUM ($truncate, INDEX_CLEANUP ON) $table;" },
		sub { return "VACUUM ($truncate, FREEZE, ANALYZE) $table;" },
		sub { return "SELECT count(*) >= 0 FROM gpu.merge('$index');" });
	push @steps,
	  sub { return "REINDEX INDEX $index;" },
	  sub { return "REINDEX INDEX CONCURRENTLY $index;" },
	  sub { return "VACUUM FULL $table;" },
	  sub { return "ALTER INDEX $index SET (fanout = " . $random->between(2, 20) . ');' },
	  sub {
		# This is rare, or there would never be much to ask about.
		return $random->once_in(3) ? "TRUNCATE $table; " . $insert_many->() : $write->();
	  }
	  unless $quiet;
	return $random->pick(@steps)->();
}

# Returns queries of a kind in its present state: one in $share of the list, drawn at random; the last batch asks many, or
# in a long run all of them.
sub some_queries
{
	my ($random, $kind, $share, %more) = @_;
	my %option = (%$kind, table => $kind->{name}, random => $random, %more);
	my @queries = key_queries(%option);
	push @queries, join_queries(%option) if $option{joins};
	return @queries if $share == 1;
	my @chosen = grep { $random->once_in($share) } @queries;
	return @chosen ? @chosen : $queries[0];
}

sub compare_functions
{
	my ($where, $random, $kind, $name) = @_;
	my $half = int($kind->{spread} / 2);
	my @bounds = ([ undef, undef ]);
	for (1 .. 6)
	{
		my $low = $random->between(-$half, $half);
		push @bounds, [ $low, $low + $random->between(0, $half) ];
	}
	push @bounds, [ undef, $random->between(-$half, $half) ], [ $random->between(-$half, $half), undef ];
	push @bounds, [ $random->between(1, $half), $random->between(-$half, 0) ];
	my @limits = $random->limits($kind->{type});
	push @bounds, [ $limits[0], $limits[3] ], [ $limits[1], $limits[2] ], [ $limits[0], $limits[0] ], [ $limits[3], $limits[3] ];
	check_functions($where, $name,
		table => $kind->{name},
		index => "$kind->{name}_k",
		type => $kind->{type},
		key => $kind->{key},
		where => $kind->{where},
		bounds => \@bounds,
		keys => [ undef, map { $random->key($kind->{type}, $kind->{spread}) } 1 .. 40 ]);
	return;
}

sub create_table
{
	my ($kind) = @_;
	my $table = $kind->{name};
	my $key = $kind->{key} || 'k';
	my $unlogged = $kind->{unlogged} ? 'UNLOGGED' : '';
	my $with = $kind->{fanout} ? "WITH (fanout = $kind->{fanout})" : '';
	my $where = $kind->{where} ? "WHERE $kind->{where}" : '';
	$node->safe_psql('postgres', <<"SQL");
DROP TABLE IF EXISTS $table;
CREATE $unlogged TABLE $table (k $kind->{type}, id int GENERATED ALWAYS AS IDENTITY, flag int, note text DEFAULT '')
  WITH (fillfactor = 80);
CREATE INDEX ${table}_k ON $table USING gpu_kary ($key $kind->{order}) $with $where;
SQL
	return;
}

for my $round (1 .. test_rounds())
{
	my $random = new_random($round - 1);

	for my $kind (every_or_some(@kinds))
	{
		my $name = "round $round, $kind->{name}";
		create_table($kind);
		$node->safe_psql('postgres', setup_probe($random, $kind->{spread}));

		# An empty index must answer, too.
		check_queries($node, "$name, empty", "$kind->{name}_k", [ some_queries($random, $kind, 4) ]);

		for my $batch (1 .. few_or_many(2, 5))
		{
			my @steps = map { random_step($random, $kind, 0) } 1 .. 12;
			# Statements are sent one by one, because VACUUM and REINDEX CONCURRENTLY refuse to run in the implicit
			# transaction of a longer string.
			my $history = join("\n", @steps);
			note($history) if length $history < 20000;
			$node->safe_psql('postgres', $history);
			check_queries($node, "$name, batch $batch", "$kind->{name}_k",
				[ some_queries($random, $kind, $batch == few_or_many(2, 5) ? few_or_many(3, 1) : 8, joins => 1) ]);
			compare_functions($node, $random, $kind, "$name, batch $batch, functions");
		}

		# In the middle of a transaction the session must see its own rows, and not those that a savepoint took back.
		my $session = new_session($node);
		$session->query_safe('BEGIN');
		$session->query_safe("INSERT INTO $kind->{name} (k, flag) SELECT i % 40, 5 FROM generate_series(1, 700) AS i");
		$session->query_safe('SAVEPOINT one');
		$session->query_safe("DELETE FROM $kind->{name} WHERE id % 2 = 0");
		$session->query_safe("INSERT INTO $kind->{name} (k, flag) SELECT i % 40, 6 FROM generate_series(1, 700) AS i");
		check_queries($session, "$name, own writes", "$kind->{name}_k", [ some_queries($random, $kind, 12) ]);
		$session->query_safe('ROLLBACK TO one');
		check_queries($session, "$name, after a rolled back savepoint", "$kind->{name}_k", [ some_queries($random, $kind, 12) ]);
		compare_functions($session, $random, $kind, "$name, own writes, functions");
		$session->query_safe($random->pick('COMMIT', 'ROLLBACK'));

		# Another session's writes, vacuums and merges must not disturb a snapshot.
		for my $level ('REPEATABLE READ', 'SERIALIZABLE')
		{
			$session->query_safe("BEGIN ISOLATION LEVEL $level");
			check_queries($session, "$name, $level", "$kind->{name}_k", [ some_queries($random, $kind, 20) ]);
			for my $pass (1 .. few_or_many(1, 2))
			{
				$node->safe_psql('postgres', random_step($random, $kind, 1)) for 1 .. 5;
				$node->safe_psql('postgres', $random->pick("VACUUM (TRUNCATE OFF) $kind->{name}", "SELECT count(*) FROM gpu.merge('$kind->{name}_k')"));
				check_queries($session, "$name, $level, pass $pass", "$kind->{name}_k", [ some_queries($random, $kind, 12) ]);
				compare_functions($session, $random, $kind, "$name, $level, pass $pass, functions");
			}
			$session->query_safe('COMMIT');
		}
		$session->quit;
		check_sound($node, "$name is sound", "$kind->{name}_k");
	}

	# Larger tables have seals and merges by the hundred. Answers are compared by range, so that the time goes into the
	# index and not into comparing text.
	for my $fanout (every_or_some(test_rounds() > 1 ? (2, 16) : 2))
	{
		my $kind = {
			name => "large_$fanout", type => 'int8', order => 'ASC NULLS LAST',
			spread => 200000, fanout => $fanout, wide => 0
		};
		my $table = $kind->{name};
		my $name = "round $round, fanout $fanout";
		create_table($kind);
		$node->safe_psql('postgres', setup_probe($random, 4000));
		for my $batch (1 .. few_or_many(2, 3))
		{
			$node->safe_psql('postgres', sprintf(<<"SQL", $random->between(0, 999999) / 1000000));
SELECT setseed(%.6f);
INSERT INTO $table (k, flag)
  SELECT CASE WHEN random() > 0.01 THEN (random() * 200000)::int - 100000 END, (random() * 9)::int
  FROM generate_series(1, 45000);
SQL
			$node->safe_psql('postgres', $random->pick(
				"DELETE FROM $table WHERE id % 3 = 0",
				"UPDATE $table SET k = k + 7 WHERE id % 4 = 0",
				"DELETE FROM $table WHERE k BETWEEN -2000 AND 5000"));
			$node->safe_psql('postgres', $random->pick("VACUUM $table", "SELECT count(*) FROM gpu.merge('${table}_k')", 'SELECT 1'));
			check_queries($node, "$name, batch $batch", "${table}_k", [ some_queries($random, $kind, 4, joins => 1) ]);
			compare_functions($node, $random, $kind, "$name, batch $batch, functions");
		}
		check_sound($node, "$name is sound", "${table}_k");
	}
}

check_path($node);
$node->stop;
done_testing();
