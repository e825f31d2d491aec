# suite: check host
# gpu_grid: random histories of tables with 1 to 8 columns of any key types, and
# points, through every kind of scan and through the heap; then a crash, and a
# standby. PG_GPU_TEST_SEED and PG_GPU_TEST_ROUNDS choose other histories.

use strict;
use warnings;

use Test::More;
use PgGpuTest::Columns;
use PgGpuTest;

my @column_sets = (
	(map { [$_] } 'bool', '"char"', qw(int4 int8 timestamptz float8 uuid macaddr point)),
	[qw(int4 int4)], [qw(int4 int8 int2)], [qw(float8 float8 float8)], [qw(timestamptz date timestamp)], [qw(uuid int4)],
	[qw(point int2)], [qw(int2 point date point)], [qw(int4 float4 time oid)], [qw(uuid uuid macaddr8)],
	[qw(int2 int4 int8 float4 float8)], [ 'bool', '"char"', qw(int2 int4 date float8) ], [qw(int4 int4 int4 int4 int4 int4 int4)],
	[qw(int2 int4 int8 oid date time uuid float8)], [qw(bool bool bool bool bool bool bool bool)]);

my $node = new_cluster('main', streaming => 1);
install_checker($node);
$node->safe_psql('postgres', 'SET client_min_messages = warning');

sub value_of
{
	my ($random, $type) = @_;
	return column_value($random, $type) if $type ne 'point';
	return join(',', map { $random->once_in(20) ? $random->pick('Infinity', '-Infinity', 'NaN', '-0', '1e300') : $random->between(-40, 40) / 4 } 1, 2);
}

sub literal
{
	my ($random, $type, @relatives) = @_;
	$type = $random->pick($type, @relatives);
	return "'" . value_of($random, $type) . "'::$type";
}

my %relatives = (
	(map { ($_ => [ 'int2', 'int4', 'int8' ]) } qw(int2 int4 int8)),
	(map { ($_ => [ 'float4', 'float8' ]) } qw(float4 float8)),
	(map { ($_ => [ 'date', 'timestamp', 'timestamptz' ]) } qw(date timestamp timestamptz)));

sub point_condition
{
	my ($random, $name) = @_;
	my ($x, $y) = map { $random->between(-40, 40) / 4 } 1, 2;
	my ($width, $height) = map { $random->between(0, 40) / 4 } 1, 2;
	return $random->pick(
		"$name <@ '(" . join(',', $x, $y, $x + $width, $y + $height) . ")'::box",
		"$name <@ '(" . join(',', $x, $y, $x + $width, $y + $height) . ")'::box",
		"$name <@ '<($x,$y),$width>'::circle",
		"$name ~= '($x,$y)'::point");
}

sub condition
{
	my ($random, $column) = @_;
	my ($name, $type) = @$column{qw(name type)};
	my $case = $random->between(0, 11);
	return "$name IS NULL" if $case == 0;
	return "$name IS NOT NULL" if $case == 1;
	return point_condition($random, $name) if $type eq 'point';
	my @any = @{ $relatives{$type} || [] };
	return "$name BETWEEN " . literal($random, $type) . ' AND ' . literal($random, $type) if $case <= 4 && $type ne 'bool';
	return "$name " . $random->pick($type eq 'bool' ? qw(< <= >= >) : qw(< <= = = = >= >)) . ' ' . literal($random, $type, @any);
}

sub queries
{
	my ($random, $table, $columns, $count) = @_;
	my $values = 'ROW(' . join(', ', map { $_->{name} } @$columns) . ')::text';
	my @queries;
	for (1 .. $count)
	{
		my @conditions = map { condition($random, $_) } grep { $random->once_in(2) } @$columns;
		push @conditions, condition($random, $random->pick(@$columns)) if !@conditions || $random->once_in(6);
		my $where = join(' AND ', @conditions);
		push @queries, { sql => "SELECT id AS k, ctid, $values FROM $table WHERE $where",
			mode => $random->pick('index', 'bitmap') };
		push @queries, { sql => "SELECT $values AS k FROM $table WHERE $where", mode => 'index_only' };
		my ($one) = $random->pick(@$columns);
		my $only = $one->{type} eq 'point' ? point_condition($random, $one->{name}) : "$one->{name} " . $random->pick(qw(< <= >= >)) . ' ' . literal($random, $one->{type});
		push @queries, { sql => "SELECT count(*) AS k FROM $table WHERE $only", mode => 'count' };
	}
	return \@queries;
}

# Counts boxes by function; element i belongs to column i.
sub check_counts
{
	my ($where, $name, $random, $table, $columns) = @_;
	my (@lows, @highs, @wanted);
	for (1 .. 5)
	{
		my (@low, @high, @conditions);
		for my $column (@$columns)
		{
			my ($low, $high) = map { $random->once_in(3) ? undef : literal($random, $column->{type}) } 1, 2;
			($low, $high) = map { defined $_ && /NaN/ ? undef : $_ } $low, $high if $column->{type} eq 'point';
			push @low, $low // "NULL::$column->{type}";
			push @high, $high // "NULL::$column->{type}";
			for ([ $low, '>=' ], [ $high, '<=' ])
			{
				my ($bound, $operator) = @$_;
				next unless defined $bound;
				push @conditions, $column->{type} eq 'point'
				  ? map { "$column->{name}\[$_\] $operator ($bound)[$_]" } 0, 1
				  : "$column->{name} $operator $bound";
			}
		}
		push @lows, 'row(' . join(', ', @low) . ')';
		push @highs, 'row(' . join(', ', @high) . ')';
		push @wanted, "(SELECT count(*) FROM $table WHERE " . join(' AND ', 'true', @conditions) . ')';
	}
	my $sql = "SELECT ARRAY[" . join(', ', map { "gpu.count('${table}_i', $lows[$_], $highs[$_])" } 0 .. $#lows) . '] = ARRAY[' . join(', ', @wanted)
	  . "] AND (SELECT array_agg(count ORDER BY ordinal) FROM gpu.count_batch('${table}_i', ARRAY[" . join(', ', @lows) . '], ARRAY['
	  . join(', ', @highs) . '])) = ARRAY[' . join(', ', @wanted) . ']';
	is($where->safe_psql('postgres', "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; $sql"), 't', $name)
	  or diag($sql);
	return;
}

# Looks up some of the table's rows, and others, by all columns at once.
sub check_lookups
{
	my ($name, $random, $table, $columns) = @_;
	return if grep { $_->{type} eq 'point' } @$columns;
	my $names = join(', ', map { $_->{name} } @$columns);
	my $count = $random->pick(3, 40, 700);
	my $keys = "SELECT row_number() OVER () AS n, $names FROM (SELECT $names FROM $table WHERE id % 3 = 1 ORDER BY id LIMIT $count) AS q";
	my $array = @$columns > 1 ? "array_agg(ROW($names) ORDER BY n)" : "array_agg($names ORDER BY n)";
	my $equal = join(' AND ', map { "t.$_->{name} = k.$_->{name}" } @$columns);
	my $sql = "WITH k AS MATERIALIZED ($keys), l AS (SELECT ordinal, tid FROM gpu.lookup('${table}_i', (SELECT $array FROM k))),
		e AS (SELECT n, t.ctid FROM k JOIN $table AS t ON $equal)
		SELECT count(*) FROM l FULL JOIN e ON ordinal = n AND tid = ctid WHERE n IS NULL OR ordinal IS NULL";
	my $has_rows = $node->safe_psql('postgres', "SELECT count(*) FROM ($keys) AS q");
	is($has_rows ? $node->safe_psql('postgres', "SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off; $sql") : 0, 0, $name)
	  or diag($sql);
	return;
}

# Compares nearest neighbours: their distances must be in the table's order.
sub check_nearest
{
	my ($name, $random, $table, $column) = @_;
	my $from = "'(" . join(',', map { $random->between(-60, 60) / 4 } 1, 2) . ")'::point";
	my $most = $random->between(1, 3000);
	my $finite = "$column <@ '(-100,-100),(100,100)'::box";
	my $only = $random->once_in(2);
	$finite .= ' AND id > 0' if !$only;
	my $list = "SELECT coalesce(string_agg(d::text, ','), '') FROM (SELECT $column <-> $from AS d FROM $table WHERE $finite ORDER BY $column <-> $from LIMIT $most) AS q";
	my $forced = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;';
	my $plan = $node->safe_psql('postgres', "$forced EXPLAIN $list");
	like($plan, $only ? qr/Index Only Scan.*Order By: \($column <-> /s : qr/Index Scan.*Order By: \($column <-> /s,
		"$name: the plan orders by the index");
	is($node->safe_psql('postgres', "$forced $list"), $node->safe_psql('postgres', "SET enable_indexscan = off; $list"), $name);
	return;
}

my @kept;
for my $round (1 .. test_rounds())
{
	my $random = new_random($round + 900);
	my $number = 0;
	for my $types (every_or_some(@column_sets))
	{
		my $zone = $random->pick('UTC', 'America/New_York', 'Pacific/Apia', 'Asia/Kathmandu');
		$node->safe_psql('postgres', "ALTER DATABASE postgres SET timezone = '$zone'");
		my $i = 0;
		my @columns = map { { name => 'c' . ++$i, type => $_, nulls => $random->pick(2, 10, 30, 1000) } } @$types;
		my $table = 'g' . ++$number;
		my $name = "round $round, " . join(' ', @$types) . ", $zone";
		my $memory = $random->pick('1MB', '64MB');
		my $with = 'fanout = ' . $random->pick(2, 8) . ', splits = ' . $random->pick('equal', 'distinct');
		my $row = sub { join(', ', map { $random->once_in($_->{nulls}) ? 'NULL' : "'" . value_of($random, $_->{type}) . "'" } @columns) };
		my $names = join(', ', map { $_->{name} } @columns);
		my $insert = sub { "INSERT INTO $table ($names) VALUES (" . join('), (', map { $row->() } 1 .. $_[0]) . ");\n" };
		# Copies a few rows many times, so that there are cells with copies of one row only.
		my $copies = sub { "INSERT INTO $table ($names) SELECT $names FROM $table, generate_series(1, $_[0]) WHERE id % 97 < 3;\n" };
		$node->safe_psql('postgres', "DROP TABLE IF EXISTS $table; CREATE TABLE $table (id int GENERATED ALWAYS AS IDENTITY, "
			  . join(', ', map { "$_->{name} $_->{type}" } @columns) . ');');
		$node->safe_psql('postgres', $insert->($random->between(500, 2500)) . $copies->($random->between(1, few_or_many(100, 300)))) unless $random->once_in(4);
		$node->safe_psql('postgres', "SET maintenance_work_mem = '$memory'; CREATE INDEX ${table}_i ON $table USING gpu_grid ($names) WITH ($with)");
		for my $batch (1 .. few_or_many(1, 2))
		{
			my $column = $random->pick(@columns);
			my @steps = ("SET maintenance_work_mem = '$memory';\n", $insert->($random->between(10, 1500)));
			push @steps, "DELETE FROM $table WHERE id % 4 = " . $random->between(0, 3) . ";\n";
			push @steps, "UPDATE $table SET $column->{name} = '" . value_of($random, $column->{type}) . "' WHERE id % 13 = 5;\n";
			push @steps, "UPDATE $table SET $column->{name} = NULL WHERE id % 17 = 3;\n";
			push @steps, $copies->($random->between(1, few_or_many(40, 100))), $insert->($random->between(10, 900));
			push @steps, $random->pick("VACUUM $table;\n", "SELECT count(*) FROM gpu.merge('${table}_i');\n", "REINDEX INDEX ${table}_i;\n", '', "VACUUM $table;\n");
			$node->safe_psql('postgres', join('', @steps));
			check_queries($node, "$name, batch $batch", "${table}_i", queries($random, $table, \@columns, 10));
			check_counts($node, "$name, batch $batch, counts", $random, $table, \@columns);
			check_lookups("$name, batch $batch, lookups", $random, $table, \@columns);
		}
		my ($point) = grep { $_->{type} eq 'point' } @columns;
		check_nearest("$name, nearest", $random, $table, $point->{name}) if $point;
		check_sound($node, "$name is sound", "${table}_i");
		push @kept, { name => $name, table => $table, columns => \@columns } if $round == 1;
	}
}

# Looks at what a crash leaves, and at what a standby has.
my $random = new_random(990);
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
my $writes = join('', map { my $names = join(', ', map { $_->{name} } @{ $_->{columns} });
	"INSERT INTO $_->{table} ($names) SELECT $names FROM $_->{table} WHERE id % 3 = 1; DELETE FROM $_->{table} WHERE id % 5 = 2;\n" } @kept);
$node->safe_psql('postgres', $writes);
$node->safe_psql('postgres', join('', map { "VACUUM $_->{table};\n" } grep { $random->once_in(2) } @kept));
$node->wait_for_catchup($standby);
$node->stop('immediate');
$node->start;
my $number_kept = 0;
for my $kept (grep { few_or_many($number_kept++ % 2, 1) } @kept)
{
	for my $where ([ $node, 'after a crash' ], [ $standby, 'on a standby' ])
	{
		check_sound($where->[0], "$kept->{name} is sound $where->[1]", "$kept->{table}_i");
		check_counts($where->[0], "$kept->{name}, counts $where->[1]", $random, $kept->{table}, $kept->{columns});
		check_queries($where->[0], "$kept->{name}, queries $where->[1]", "$kept->{table}_i", queries($random, $kept->{table}, $kept->{columns}, 4));
	}
}
check_path($_) foreach ($node, $standby);
$standby->stop;
$node->stop;
done_testing();
