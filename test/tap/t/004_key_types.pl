# suite: check host
# Every key type, alone and in composite keys, through the index and through
# the heap. Random histories, random conditions on any of the columns, orders
# both ways, gpu.count, gpu.count_batch and gpu.lookup.
# PG_GPU_TEST_SEED and PG_GPU_TEST_ROUNDS choose other histories.

use strict;
use warnings;

use Test::More;
use PgGpuTest::Columns;
use PgGpuTest;

my @single = ('bool', '"char"', qw(int2 int4 int8 oid date timestamp timestamptz time float4 float8 uuid macaddr macaddr8));
my @composite = (
	[qw(int4 timestamptz)], [qw(int4 int4)], [qw(int8 int8)], [qw(int2 bool int8)], [qw(int4 int8)], [qw(int2 int4 int4)], [qw(bool int8)],
	[qw(int8 bool int4)], [qw(date float8)], ['"char"', 'int4', 'int2'],
	[qw(timestamp date)], [qw(float4 float4)], ['bool', 'bool', '"char"', 'int2'], [qw(time int8)], [qw(macaddr int4 int2)],
	[qw(oid date int2 bool)], [('"char"') x 5], [qw(int2 int2)]);
my @orders = ('ASC NULLS LAST', 'ASC NULLS FIRST', 'DESC NULLS FIRST', 'DESC NULLS LAST');

my $node = new_cluster('main');
install_checker($node);

sub bound_sql
{
	my ($random, $columns) = @_;
	my $fields = $random->between(1, scalar @$columns);
	return map { $random->once_in(4) ? "NULL::$_->{type}" : "'" . column_value($random, $_->{type}) . "'::$_->{type}" } @$columns[ 0 .. $fields - 1 ];
}

# Returns SQL that is true for the rows between two bounds.
sub between_sql
{
	my ($columns, $low, $high) = @_;
	my @conditions = ('true');
	for my $i (0 .. $#$columns)
	{
		push @conditions, "$columns->[$i]{name} >= $low->[$i]" if $i < @$low && $low->[$i] !~ /^NULL/;
		push @conditions, "$columns->[$i]{name} <= $high->[$i]" if $i < @$high && $high->[$i] !~ /^NULL/;
	}
	return join(' AND ', @conditions);
}

sub check_column_functions
{
	my ($name, $random, $table, $columns) = @_;
	my @counts;
	my (@lows, @highs, @wanted);
	for (1 .. 6)
	{
		my @low = bound_sql($random, $columns);
		my @high = bound_sql($random, $columns);
		my $wanted = "(SELECT count(*) FROM $table WHERE " . between_sql($columns, \@low, \@high) . ')';
		my ($low, $high) = ('row(' . join(', ', @low) . ')', 'row(' . join(', ', @high) . ')');
		push @counts, "gpu.count('${table}_k', $low, $high) = $wanted";
		push @lows, $low;
		push @highs, $high;
		push @wanted, $wanted;
	}
	push @counts, "(SELECT array_agg(count ORDER BY ordinal) FROM gpu.count_batch('${table}_k', ARRAY["
	  . join(', ', @lows) . '], ARRAY[' . join(', ', @highs) . '])) = ARRAY[' . join(', ', @wanted) . ']';
	my @keys = map { 'row(' . join(', ', map { $random->once_in(12) ? "NULL::$_->{type}" : "'" . column_value($random, $_->{type}) . "'::$_->{type}" } @$columns) . ')' } 1 .. 25;
	# Some of the keys that are looked up are in the table.
	my $names = join(', ', map { $_->{name} } @$columns);
	my $keys = 'ARRAY[' . join(', ', @keys) . "] || (SELECT array_agg(row($names)) FROM (SELECT * FROM $table ORDER BY id LIMIT 25) AS few)";
	my $types = join(', ', map { "$_->{name} $_->{type}" } @$columns);
	my $equal = join(' AND ', map { "t.$_->{name} = u.$_->{name}" } @$columns);
	my $lookup = "SELECT array_agg(format('%s %s', ordinal, tid) ORDER BY ordinal, tid) FROM gpu.lookup('${table}_k', keys)";
	my $heap = "SELECT array_agg(format('%s %s', u.ordinal, t.ctid) ORDER BY u.ordinal, t.ctid) FROM ROWS FROM (unnest(keys) AS ($types)) WITH ORDINALITY AS u($names, ordinal) JOIN $table AS t ON $equal";
	if (@$columns == 1)
	{
		my $type = $columns->[0]{type};
		$keys = 'ARRAY[' . join(', ', map { s/^row\((.*)\)$/$1/r } @keys) . "] || (SELECT array_agg($names) FROM (SELECT * FROM $table ORDER BY id LIMIT 25) AS few)";
		$heap = "SELECT array_agg(format('%s %s', u.ordinal, t.ctid) ORDER BY u.ordinal, t.ctid) FROM unnest(keys) WITH ORDINALITY AS u($names, ordinal) JOIN $table AS t ON $equal";
	}
	push @counts, "(SELECT ($lookup) IS NOT DISTINCT FROM ($heap) FROM (SELECT $keys AS keys) AS k)";
	my $answers = $node->safe_psql('postgres', 'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SELECT '
		  . join(', ', map { "CASE WHEN $_ THEN '' ELSE \$wrong\$$_;\$wrong\$ END" } @counts));
	return is($answers =~ s/\|//gr, '', $name);
}

for my $round (1 .. test_rounds())
{
	my $random = new_random($round + 500);
	my $number = 0;
	for my $types (every_or_some((map { [$_] } @single), @composite))
	{
		# How date and time compare with timestamptz depends on the time zone, and some zones skip a day or an hour.
		my $zone = $random->pick('UTC', 'America/New_York', 'Pacific/Apia', 'Asia/Kathmandu');
		$node->safe_psql('postgres', "ALTER DATABASE postgres SET timezone = '$zone'");
		my $i = 0;
		my @columns = map { { name => 'c' . ++$i, type => $_, order => $random->pick(@orders), nulls => $random->pick(2, 10, 30) } } @$types;
		my $table = 't' . ++$number;
		my $name = "round $round, " . join(' ', map { "$_->{type} $_->{order}" } @columns) . ", $zone";
		my $fanout = $random->pick(2, 8);
		$node->safe_psql('postgres',
			"DROP TABLE IF EXISTS $table; CREATE TABLE $table (id int GENERATED ALWAYS AS IDENTITY, "
			  . join(', ', map { "$_->{name} $_->{type}" } @columns) . ');');
		my $insert = sub {
			my ($rows) = @_;
			return "INSERT INTO $table (" . join(', ', map { $_->{name} } @columns) . ') VALUES ('
			  . join('), (', map { row_of($random, \@columns) } 1 .. $rows) . ");\n";
		};
		my $some = $random->between(500, 2500);
		$node->safe_psql('postgres', $insert->($some)) unless $random->once_in(4);
		$node->safe_psql('postgres',
			"CREATE INDEX ${table}_k ON $table USING gpu_kary (" . join(', ', map { "$_->{name} $_->{order}" } @columns) . ") WITH (fanout = $fanout)");
		for my $batch (1 .. few_or_many(1, 3))
		{
			my $column = $random->pick(@columns);
			my @steps = ($insert->($random->between(10, 1500)));
			push @steps, "DELETE FROM $table WHERE id % 4 = " . $random->between(0, 3) . ";\n";
			push @steps, "UPDATE $table SET $column->{name} = '" . column_value($random, $column->{type}) . "' WHERE id % 13 = 5;\n";
			push @steps, "UPDATE $table SET $column->{name} = NULL WHERE id % 17 = 3;\n";
			push @steps, $insert->($random->between(10, 900));
			push @steps, $random->pick("VACUUM $table;\n", "SELECT count(*) FROM gpu.merge('${table}_k');\n", "REINDEX INDEX ${table}_k;\n", '', "VACUUM $table;\n");
			$node->safe_psql('postgres', join('', @steps));
			check_queries($node, "$name, batch $batch", "${table}_k",
				[ column_queries(random => $random, table => $table, columns => \@columns, count => few_or_many(15, 25)) ]);
			check_column_functions("$name, batch $batch, functions", $random, $table, \@columns);
		}
		check_sound($node, "$name is sound", "${table}_k");
		$node->safe_psql('postgres', "DROP TABLE $table");
	}
}

check_path($node);
$node->stop;
done_testing();
