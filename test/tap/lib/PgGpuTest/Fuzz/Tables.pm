package PgGpuTest::Fuzz::Tables;

# Random tables with a gpu_column index, and their histories.
#
#   my $table = random_table($random, 't1', $rows, $for_joins, type_names());    # of so many rows at most; $for_joins: as GpuQuery joins them
#   $table->{setup}       the statements that make it
#   $table->{columns}     hashes of name, type
#   $table->{indexed}     those that the index has
#   $table->{elsewhere}   a column that it hasn't, and another index has; or undef
#   $table->{parts}       names of partitions or children
#   $table->{joined}      tables to join it with: hashes of name, columns, key, and the column of $table that has the keys' values
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
	my $into = $table->{kind} eq 'children' ? $random->pick($table->{name}, @{ $table->{parts} }) : $table->{name};
	return "INSERT INTO $into (" . join(', ', map { $_->{name} } @columns) . ') SELECT ' . join(', ', map { $_->{values} } @columns)
	  . " FROM generate_series($first, $table->{rows}) AS g";
}

sub _some_rows
{
	my ($random, $table) = @_;
	my $column = $random->pick(@{ $table->{columns} });
	my $hashed = 'h(hashtext(' . $column->{name} . '::text), ' . $random->between(1, 999) . ') % ' . $random->pick(2, 5, 17) . ' = 0';
	return $random->once_in(3) ? "$column->{name} IS NULL OR $hashed" : $hashed;
}

# One statement that changes rows of a joined table.
sub _change_joined
{
	my ($random, $joined) = @_;
	my @others = @{ $joined->{columns} }[ 1 .. $#{ $joined->{columns} } ];
	my $column = $random->pick(@others);
	my $some = "h(hashtext($joined->{key}::text), " . $random->between(1, 999) . ') % ' . $random->pick(2, 5, 17) . ' = 0';
	return $random->pick(
		"DELETE FROM $joined->{name} WHERE $some", "UPDATE $joined->{name} SET $column->{name} = " . random_literal($random, $column->{type}) . " WHERE $some",
		"INSERT INTO $joined->{name} ($joined->{key}) VALUES (" . random_literal($random, $joined->{columns}[0]{type}) . ') ON CONFLICT DO NOTHING');
}

sub random_change
{
	my ($random, $table) = @_;
	my $name = $table->{name};
	return _change_joined($random, $random->pick(@{ $table->{joined} })) if @{ $table->{joined} } && $random->once_in(4);
	my $each = $table->{kind} eq 'children' ? join(', ', $name, @{ $table->{parts} }) : $name;
	my $case = $random->between(0, 10);
	return $random->pick("TRUNCATE $name", "VACUUM FULL $each", "REINDEX TABLE $name") if $case == 10 && $random->once_in(4);
	return _insert($random, $table, $random->pick(1, 7, 60)) if $case < 3 || $case == 10;
	return "DELETE FROM $name WHERE " . _some_rows($random, $table) if $case == 3;
	if ($case < 6)
	{
		my $column = $random->pick(grep { !$_->{generated} } @{ $table->{columns} });
		my $value = $random->once_in(4) ? 'NULL' : random_literal($random, $column->{type});
		return "UPDATE $name SET $column->{name} = $value WHERE " . _some_rows($random, $table);
	}
	return "VACUUM $each" if $case == 6;
	return "SELECT count(*) FROM gpu.merge('$table->{index}')" if $case == 7 && $table->{kind} eq 'plain';
	if ($case == 8)
	{
		my $insert = sub { _insert($random, $table, $random->pick(1, 40)) . '; ' };
		return 'BEGIN; ' . $insert->() . 'ROLLBACK' if $random->once_in(2);
		return 'BEGIN; ' . $insert->() . 'SAVEPOINT s; ' . $insert->() . 'ROLLBACK TO s; ' . $insert->() . 'COMMIT';
	}
	return "VACUUM (FREEZE, ANALYZE) $each";
}

sub _options
{
	my ($random) = @_;
	my @options = (($random->once_in(3) ? 'fanout = 2' : ()), ($random->once_in(3) ? () : 'scaled_numerics = ' . $random->pick('on', 'auto')));
	return @options ? ' WITH (' . join(', ', @options) . ')' : '';
}

# On the table or on each part, with the columns in any order, and rarely not on all parts.
sub _create_indexes
{
	my ($random, $table) = @_;
	my @names = map { $_->{name} } @{ $table->{indexed} };
	# What statements don't ask for, but has a place among the index's columns.
	splice(@names, $random->between(0, $#names), 0, '(' . $table->{indexed}[0]{name} . ' IS NULL)') if $random->once_in(6);
	my $create = sub {
		my ($on) = @_;
		@names = reverse @names if $random->once_in(3);
		return "CREATE INDEX ${on}_i ON $on USING gpu_column (" . join(', ', @names) . ')' .  _options($random);
	};
	# As from tables of millions of rows, numerics become integers.
	my @setting = (q{LOAD 'pg_gpu_test'}, 'SET pg_gpu_test.listed_numerics = ' . $random->pick(0, 0, 500, 65536));
	return (@setting, $create->($table->{name})) if $table->{kind} eq 'plain' || ($table->{kind} eq 'partitions' && $random->once_in(2));
	return @setting, map { $create->($_) } grep { !$random->once_in(12) } @{ $table->{parts} }, $table->{kind} eq 'children' ? $table->{name} : ();
}

sub _create_parts
{
	my ($random, $table, @defined) = @_;
	my $storage = 'WITH (autovacuum_enabled = off)';
	my $last = $random->between(1, 2);
	@{ $table->{parts} } = map { "$table->{name}_$_" } 0 .. $last;
	my @plain = grep { !/GENERATED|^gone/ } @defined;
	return map {
		# A child of two parents has the columns in places of its own, too.
		$random->once_in(2) ? "CREATE TABLE $_ (own int4) INHERITS ($table->{name}) $storage" : (
			"DROP TABLE IF EXISTS ${_}_other CASCADE", "CREATE TABLE ${_}_other (own int4, " . join(', ', reverse @plain) . ')',
			"CREATE TABLE $_ () INHERITS (${_}_other, $table->{name}) $storage")
	} @{ $table->{parts} } if $table->{kind} eq 'children';
	return map {
		my $part = "$table->{name}_$_";
		my $bounds = 'FOR VALUES WITH (MODULUS ' . ($last + 1) . ", REMAINDER $_)";
		# Made by itself, its columns have other numbers than the table's.
		$random->once_in(2) ? "CREATE TABLE $part PARTITION OF $table->{name} $bounds $storage" : (
			"CREATE TABLE $part (gone int4, " . join(', ', reverse @defined) . ") $storage", "ALTER TABLE $part DROP COLUMN gone", "ALTER TABLE $table->{name} ATTACH PARTITION $part $bounds")
	} 0 .. $last;
}

# The statement that creates a plain table, or a parent, and what belongs to it.
sub _create_table
{
	my ($random, $table) = @_;
	my ($name, $columns) = @$table{qw(name columns)};
	my $by = (grep { $_->{type} =~ /^(int[248]|text|date)$/ } @$columns)[0];
	$table->{kind} = $table->{for_joins} ? 'plain' : $random->once_in(5) && $by ? 'partitions' : $random->once_in(10) ? 'children' : 'plain';
	my @defined = map { "$_->{name} " . (type_of($_->{type})->{sql} || $_->{type}) } @$columns;
	return ("CREATE TABLE $name (" . join(', ', @defined) . ") PARTITION BY HASH ($by->{name})", _create_parts($random, $table, @defined)) if $table->{kind} eq 'partitions';
	my @further;
	if ($random->once_in(5))
	{
		# A column that goes: attribute numbers of table and index differ.
		splice(@defined, $random->between(0, $#defined), 0, 'gone int4');
		push @further, "ALTER TABLE $name DROP COLUMN gone";
	}
	if ($random->once_in(8) && (my ($number) = grep { $_->{type} eq 'int4' } @$columns))
	{
		push @defined, "computed int8 GENERATED ALWAYS AS ($number->{name}::int8 * 3) STORED";
		push @$columns, { name => 'computed', type => 'int8', generated => 1 };
	}
	if ($table->{kind} eq 'plain' && $random->once_in(6))
	{
		$table->{key} = 'id';
		push @defined, 'id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY';
		push @$columns, { name => 'id', type => 'int8', generated => 1 };
	}
	my $persistence = $random->once_in(10) ? 'UNLOGGED ' : '';
	return ("CREATE ${persistence}TABLE $name (" . join(', ', @defined) . ') WITH (autovacuum_enabled = off)', @further, $table->{kind} eq 'children' ? _create_parts($random, $table, @defined) : ());
}

# Types whose values equal those of a column's type, and have room for all of these.
my %wider = (
	int2 => [ 'int4', 'int8', 'numeric', 'float8' ], int4 => [ 'int8', 'numeric', 'float8' ], int8 => ['numeric'], 'numeric(10,2)' => [ 'numeric', 'numeric(30,12)' ],
	'numeric(9,3)' => [ 'numeric', 'numeric(30,12)', 'numeric(10,2)' ], numeric => ['scaled_numeric'], short_numeric => ['numeric'], scaled_numeric => [ 'numeric', 'short_numeric' ], float4 => ['float8'],
	'varchar(12)' => ['text'], 'char(4)' => [ 'text', 'varchar(12)' ]);

# A table whose keys are some of the values that a column of the table, or of a table that is joined with it, has, and others. Keys may
# not be unique. A joined table's columns have names of their own, and often it has a gpu_column index, too.
sub _create_joined
{
	my ($random, $table, $number, @types) = @_;
	my @from = grep { !$_->{generated} } @{ $table->{columns} };
	my $source = $table->{name};
	my $through = @{ $table->{joined} } && $random->once_in(3) ? $random->pick(@{ $table->{joined} }) : undef;
	($source, @from) = ($through->{name}, @{ $through->{columns} }) if $through;
	my $by = $random->pick(@from);
	my $name = "$table->{name}_j$number";
	my $type = $wider{ $by->{type} } && $random->once_in(3) ? $random->pick(@{ $wider{ $by->{type} } }) : $by->{type};
	my @columns = ({ name => "j${number}_k", type => $type }, map { { name => "j${number}_$_", type => $random->pick(@types) } } 1 .. $random->between(1, 3));
	$_->{values} = _values_of($random, $_) foreach @columns;
	my $joined = { name => $name, columns => \@columns, key => $columns[0]{name}, by => $by, through => $through };
	my $is_unique = $random->once_in(2);
	my @others = @columns[ 1 .. $#columns ];
	my $into = "INSERT INTO $name (" . join(', ', map { $_->{name} } @columns) . ') SELECT ';
	my $values = join('', map { ", $_->{values}" } @others);
	my $keys = "SELECT DISTINCT $by->{name} FROM $source WHERE h(hashtext($by->{name}::text), " . $random->between(1, 999) . ') % ' . $random->pick(2, 5, 50) . ' <> 0';
	my $times = $is_unique ? 1 : $random->pick(1, 2, 2, 3);
	my @setup = ('CREATE TABLE ' . $name . ' (' . join(', ', map { "$_->{name} " . (type_of($_->{type})->{sql} || $_->{type}) } @columns) . ($is_unique ? ", UNIQUE ($joined->{key})" : '') . ') WITH (autovacuum_enabled = off)');
	my $create = "CREATE INDEX ${name}_i ON $name USING gpu_column (" . join(', ', map { $_->{name} } $random->once_in(2) ? reverse @columns : @columns) . ')';
	my $indexed = $random->pick($table->{for_joins} ? () : 'not', 'before', 'behind', 'behind');
	push @setup, $create if $indexed eq 'before';
	# Some have no rows.
	push @setup, "$into f$values FROM (SELECT f, row_number() OVER () AS g FROM ($keys) AS d (f), generate_series(1, $times)) AS s ON CONFLICT DO NOTHING",
		"$into" . join(', ', map { $_->{values} } @columns) . ' FROM generate_series(1, ' . $random->pick(0, 3, 40) . ') AS g ON CONFLICT DO NOTHING'
	  unless $random->once_in(10);
	push @setup, "INSERT INTO $name SELECT FROM generate_series(1, " . $random->pick(1, 1, 5) . ')' if $random->once_in(3);
	push @setup, $create if $indexed eq 'behind';
	push @setup, _change_joined($random, $joined) if $random->once_in(4);
	push @setup, "VACUUM $name" if $random->once_in(2);
	push @setup, "ANALYZE $name" if $random->once_in(2);
	push @{ $table->{setup} }, @setup;
	push @{ $table->{joined} }, $joined;
	return;
}

# Takes a column out of the gpu_column index that an index of another kind has, of which bitmaps tell rows exactly, or roughly.
sub _leave_to_other
{
	my ($random, $table) = @_;
	my @fitting = grep { $_->{type} =~ /^(int[248]|date|text|float8)$/ } @{ $table->{indexed} };
	return unless @fitting && @{ $table->{indexed} } > 1;
	my $column = $random->pick(@fitting);
	my @others = grep { $_ != $column } @{ $table->{indexed} };
	my $method = $random->pick('btree', 'btree', 'gpu_kary', 'hash', 'brin');
	my $where = $random->once_in(6) ? " WHERE $others[0]{name} IS NOT NULL" : '';
	$table->{indexed} = \@others;
	$table->{elsewhere} = $column;
	# gpu_kary has no default for text.
	my $class = $method eq 'gpu_kary' && $column->{type} eq 'text' ? ' gpu.hash_ops' : '';
	$table->{other} = "CREATE INDEX $table->{name}_e ON $table->{name} USING $method ($column->{name}$class)$where";
	return;
}

sub random_table
{
	my ($random, $name, $most, $for_joins, @types) = @_;
	my $table = { name => $name, index => "${name}_i", rows => 0, parts => [], joined => [], for_joins => $for_joins };
	my @columns = map { { name => "c$_", type => $random->pick(@types) } } 1 .. $random->between(2, 8);
	$_->{values} = _values_of($random, $_) foreach @columns;
	$table->{columns} = \@columns;
	my $setup = $table->{setup} = [ _create_table($random, $table) ];
	my $rows = $random->pick(0, 1, 3, 40, 700, 700, $most, $most, $most);
	$table->{indexed} = [@columns];
	# Some columns stay outside of the index.
	@{ $table->{indexed} } = grep { !$random->once_in(5) } @columns if !$for_joins && $random->once_in(4);
	@{ $table->{indexed} } = @columns unless @{ $table->{indexed} };

	_leave_to_other($random, $table) if !$for_joins && $table->{kind} eq 'plain' && $random->once_in(3);

	my @batches = $rows < 2 || $random->once_in(3) ? ($rows) : (int($rows / 2), $rows - int($rows / 2));
	my $index_at = $random->between(0, scalar @batches);
	foreach my $i (0 .. @batches)
	{
		push @$setup, _create_indexes($random, $table) if $i == $index_at;
		push @$setup, _insert($random, $table, $batches[$i]) if $i < @batches && $batches[$i] > 0;
		push @$setup, random_change($random, $table) foreach 1 .. ($rows > 1 && $i >= $index_at ? $random->between(0, 4) : 0);
	}
	push @$setup, $table->{other} if $table->{other};
	if ($table->{kind} eq 'plain' && $random->once_in(6))
	{
		# Rows that were there before have the value without being written again.
		my $later = { name => 'later', type => 'int4', values => '(h(g, 5) % 5)::int4' };
		push @columns, $later;
		push @{ $table->{indexed} }, $later;
		push @$setup, "DROP INDEX $table->{index}", "ALTER TABLE $name ADD COLUMN later int4 DEFAULT 7", _create_indexes($random, $table);
	}
	my $each = $table->{kind} eq 'children' ? join(', ', $name, @{ $table->{parts} }) : $name;
	push @$setup, 'VACUUM ' . ($random->once_in(2) ? '(FREEZE) ' : '') . $each if $random->once_in(2);
	push @$setup, "ANALYZE $name" unless $random->once_in(4);
	_create_joined($random, $table, $_, @types) foreach 1 .. $random->pick($for_joins ? () : 0, 1, 2, 2, 3, 3);
	return $table;
}

1;
