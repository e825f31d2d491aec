package PgGpuTest::Fuzz::Tables;

# Random tables with a gpu_column index, and their histories.
#
#   my $table = random_table($random, 't1', $rows, type_names());    # of so many rows at most
#   $table->{setup}       the statements that make it
#   $table->{columns}     hashes of name, type
#   $table->{indexed}     those that the index has
#   random_change($random, $table)   one statement that changes rows

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
our @EXPORT = qw(shared_objects random_table random_change random_literal);

use PgGpuTest::Fuzz::Types;

# What all tables need, once a database.
sub shared_objects
{
	return (
		"CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')", "ALTER TYPE mood ADD VALUE 'elated' BEFORE 'ok'",
		'CREATE TYPE pair AS (a int4, b text)',
		'CREATE DOMAIN positive AS int4 CHECK (value > 0)',
		"CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
		"CREATE TABLE outer_rows (n int4, i4 int4, i8 int8, t text, d date, n4 numeric)",
		"INSERT INTO outer_rows VALUES (1, 0, 0, '', '2021-03-10', 0), (2, 3, 2, 'a1', 'infinity', 1.5), (3, -5, 20, 'v7', '2021-11-08', -2.25), (4, NULL, NULL, NULL, NULL, NULL), (5, 3, 2, 'zz', '2021-03-10', 'NaN')",
		# A number from 0 to 2^63 for each row and column.
		"CREATE FUNCTION h(row_number int8, seed int8) RETURNS int8 IMMUTABLE LANGUAGE sql AS 'SELECT hashint8extended(row_number, seed) & 9223372036854775807'",
		# One of the values: all of them alike often, or the first ones far more often.
		"CREATE FUNCTION choose(list anyarray, h int8) RETURNS anyelement IMMUTABLE LANGUAGE sql AS 'SELECT list[1 + h % cardinality(list)]'",
		"CREATE FUNCTION choose_first(list anyarray, h int8) RETURNS anyelement IMMUTABLE LANGUAGE sql AS 'SELECT list[1 + floor(cardinality(list) * power((h % 1000) / 1000.0, 5))::int4]'");
}

sub _array
{
	my ($type, @values) = @_;
	my $sql = sql_type($type);
	return 'ARRAY[' . join(', ', map { "'$_'" } @values) . "]::${sql}[]";
}

# One value of a column, as a literal with its type.
sub random_literal
{
	my ($random, $type) = @_;
	my $of = type_of($type);
	return literal_of($type, $random->once_in(8) ? $random->pick(@{ $of->{special} }) : $of->{dense}->($random));
}

# The expression that gives a column's values from a row's number g.
sub _values_of
{
	my ($random, $column) = @_;
	my $type = $column->{type};
	my $of = type_of($type);
	my $hash = sub { 'h(g, ' . $random->between(1, 999999) . ')' };
	my $sql = sql_type($type);
	my $chosen = sub {
		my ($chooser, @values) = @_;
		return $type =~ /\[\]$/ ? "$chooser(" . _array('text', @values) . ', ' . $hash->() . ")::$sql" : "$chooser(" . _array($type, @values) . ', ' . $hash->() . ')';
	};
	my $way = $random->between(0, 9);
	my $usual =
		$way == 0 ? $random->pick(map { literal_of($type, $_) } $of->{dense}->($random), $of->{special}[0])
	  : $way <= 4 ? $chosen->('choose', map { $of->{dense}->($random) } 1 .. $random->pick(2, 5, 20, 60))
	  : $way <= 6 ? $chosen->('choose_first', map { $of->{dense}->($random) } 1 .. $random->pick(5, 60))
	  :             '(' . $of->{many} =~ s/\bh\b/$hash->()/egr . ")::$sql";
	my $whens = '';
	my $nulls = $random->pick(0, 0, 2, 9, 100);
	$whens .= ' WHEN ' . $hash->() . " % $nulls = 0 THEN NULL" if $nulls;
	my $specials = $random->pick(0, 0, 3, 20, 500);
	$whens .= ' WHEN ' . $hash->() . " % $specials = 0 THEN " . $chosen->('choose', @{ $of->{special} }) if $specials;
	return $whens ? "CASE$whens ELSE $usual END" : $usual;
}

sub _insert
{
	my ($random, $table, $count) = @_;
	my $first = $table->{rows} + 1;
	$table->{rows} += $count;
	my @columns = grep { !$_->{generated} } @{ $table->{columns} };
	return "INSERT INTO $table->{name} (" . join(', ', map { $_->{name} } @columns) . ') SELECT ' . join(', ', map { $_->{values} } @columns)
	  . " FROM generate_series($first, $table->{rows}) AS g";
}

# Gives some of a parent's rows to its child.
sub _hand_down
{
	my ($random, $table) = @_;
	my $columns = join ', ', map { $_->{name} } grep { !$_->{generated} } @{ $table->{columns} };
	my $rows = '(ctid::text::point)[1]::int4 % ' . $random->pick(2, 3, 7) . ' = 0';
	return "WITH moved AS (DELETE FROM ONLY $table->{name} WHERE $rows RETURNING $columns) INSERT INTO $table->{members}[0] ($columns) TABLE moved";
}

sub _some_rows
{
	my ($random, $table) = @_;
	my $column = $random->pick(@{ $table->{columns} });
	my $hashed = 'h(hashtext(' . $column->{name} . '::text), ' . $random->between(1, 999) . ') % ' . $random->pick(2, 5, 17) . ' = 0';
	return $random->once_in(3) ? "$column->{name} IS NULL OR $hashed" : $hashed;
}

sub random_change
{
	my ($random, $table) = @_;
	my $name = $table->{name};
	my $case = $random->between(0, 10);
	return $random->pick("TRUNCATE $name", "VACUUM FULL $name", "REINDEX TABLE $name") if $case == 10 && $random->once_in(4);
	return _insert($random, $table, $random->pick(1, 7, 60)) if $case < 3 || $case == 10;
	return "DELETE FROM $name WHERE " . _some_rows($random, $table) if $case == 3;
	if ($case < 6)
	{
		my $column = $random->pick(grep { !$_->{generated} } @{ $table->{columns} });
		my $value = $random->once_in(4) ? 'NULL' : random_literal($random, $column->{type});
		return "UPDATE $name SET $column->{name} = $value WHERE " . _some_rows($random, $table);
	}
	return "VACUUM $name" if $case == 6;
	return "SELECT count(*) FROM gpu.merge('$table->{index}')" if $case == 7 && !$table->{partitions};
	if ($case == 8)
	{
		my $insert = sub { _insert($random, $table, $random->pick(1, 40)) . '; ' };
		return 'BEGIN; ' . $insert->() . 'ROLLBACK' if $random->once_in(2);
		return 'BEGIN; ' . $insert->() . 'SAVEPOINT s; ' . $insert->() . 'ROLLBACK TO s; ' . $insert->() . 'COMMIT';
	}
	return "VACUUM (FREEZE, ANALYZE) $name";
}

# Of the table, or of each member; perhaps one of them goes without.
sub _create_indexes
{
	my ($random, $table) = @_;
	return _create_index($random, $table, $table->{index}, $table->{name}) if !@{ $table->{members} } || ($table->{partitions} && $random->once_in(2));
	my @indexed = $table->{partitions} ? () : (_create_index($random, $table, $table->{index}, $table->{name}));
	foreach my $member (@{ $table->{members} })
	{
		push @indexed, _create_index($random, $table, "${member}_i", $member) unless $random->once_in(4);
	}
	return @indexed;
}

sub _create_index
{
	my ($random, $table, $index, $on) = @_;
	my @names = map { $_->{name} } @{ $table->{indexed} };
	# What statements don't ask for, but has a place among the index's columns.
	splice(@names, $random->between(0, $#names), 0, '(' . $table->{indexed}[0]{name} . ' IS NULL)') if $random->once_in(6);
	my $with = $random->once_in(3) ? ' WITH (fanout = 2)' : '';
	return "CREATE INDEX $index ON $on USING gpu_column (" . join(', ', @names) . ")$with";
}

sub random_table
{
	my ($random, $name, $most, @types) = @_;
	my $table = { name => $name, index => "${name}_i", rows => 0, setup => [] };
	my $setup = $table->{setup};
	my @columns = map { { name => "c$_", type => $random->pick(@types) } } 1 .. $random->between(2, 8);
	$_->{values} = _values_of($random, $_) foreach @columns;
	$table->{columns} = \@columns;
	$table->{indexed} = [@columns];
	my $rows = $random->pick(0, 1, 3, 40, 700, 700, $most, $most, $most);
	$table->{partitions} = 0;
	$table->{members} = [];
	my $part = $random->once_in(6) ? (grep { $_->{type} =~ /^(int[248]|text|date)$/ } @columns)[0] : undef;
	my @defined = map { "$_->{name} " . (type_of($_->{type})->{sql} || $_->{type}) } @columns;
	# A column that goes: attribute numbers of table and index differ.
	my $gone = !$part && $random->once_in(5);
	splice(@defined, $random->between(0, $#defined), 0, 'gone int4') if $gone;
	my $computed;
	if (!$part && $random->once_in(8) && (my ($number) = grep { $_->{type} eq 'int4' } @columns))
	{
		$computed = { name => 'computed', type => 'int8', generated => 1 };
		push @defined, "computed int8 GENERATED ALWAYS AS ($number->{name}::int8 * 3) STORED";
		push @columns, $computed;
		push @{ $table->{indexed} }, $computed;
	}
	if (!$part && $random->once_in(6))
	{
		$table->{key} = 'id';
		push @defined, 'id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY';
		push @columns, { name => 'id', type => 'int8', generated => 1 };
		push @{ $table->{indexed} }, $columns[-1];
	}
	my $kind = $part ? '' : $random->once_in(10) ? 'UNLOGGED ' : '';
	push @$setup, "CREATE ${kind}TABLE $name (" . join(', ', @defined) . ')' . ($part ? " PARTITION BY HASH ($part->{name})" : ' WITH (autovacuum_enabled = off)');
	if ($part)
	{
		$table->{partitions} = $random->between(2, 3);
		foreach my $remainder (0 .. $table->{partitions} - 1)
		{
			my $member = "${name}_$remainder";
			push @$setup, "CREATE TABLE $member PARTITION OF $name FOR VALUES WITH (MODULUS $table->{partitions}, REMAINDER $remainder) WITH (autovacuum_enabled = off)";
			push @{ $table->{members} }, $member;
		}
	}
	if (!$part && !$table->{key} && $random->once_in(6))
	{
		# A child that has the columns, and more of them, in places of its own.
		push @{ $table->{members} }, "${name}_child";
		push @$setup, "DROP TABLE IF EXISTS ${name}_other", "CREATE TABLE ${name}_other (other text, " . join(', ', reverse grep { !/GENERATED|^gone/ } @defined) . ')',
		  "CREATE TABLE ${name}_child () INHERITS (${name}_other, $name) WITH (autovacuum_enabled = off)";
	}
	push @$setup, "ALTER TABLE $name DROP COLUMN gone" if $gone;
	# Some columns stay outside of the index.
	@{ $table->{indexed} } = grep { !$random->once_in(5) } @columns if $random->once_in(4);
	@{ $table->{indexed} } = @columns unless @{ $table->{indexed} };
	$table->{indexed} = [ reverse @{ $table->{indexed} } ] if $random->once_in(3);

	my @parts = $rows < 2 || $random->once_in(3) ? ($rows) : (int($rows / 2), $rows - int($rows / 2));
	my $index_at = $random->between(0, scalar @parts);
	foreach my $i (0 .. @parts)
	{
		push @$setup, _create_indexes($random, $table) if $i == $index_at;
		push @$setup, _insert($random, $table, $parts[$i]) if $i < @parts && $parts[$i] > 0;
		push @$setup, _hand_down($random, $table) if $i < @parts && @{ $table->{members} } && !$table->{partitions};
		push @$setup, random_change($random, $table) foreach 1 .. ($rows > 1 && $i >= $index_at ? $random->between(0, 4) : 0);
	}
	if (!$part && $random->once_in(6))
	{
		# Rows that were there before have the value without being written again.
		my $later = { name => 'later', type => 'int4', values => '(h(g, 5) % 5)::int4' };
		push @columns, $later;
		push @{ $table->{indexed} }, $later unless $table->{indexed} == \@columns;
		push @$setup, "DROP INDEX $table->{index}", "ALTER TABLE $name ADD COLUMN later int4 DEFAULT 7", _create_index($random, $table, $table->{index}, $name);
	}
	push @$setup, 'VACUUM ' . ($random->once_in(2) ? '(FREEZE) ' : '') . $name if $random->once_in(2);
	push @$setup, "ANALYZE $name" unless $random->once_in(4);
	return $table;
}

1;
