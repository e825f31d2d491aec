package PgGpuTest::Columns;

# Random values, rows and queries for indexes on columns of any key type, alone
# and together.

use strict;
use warnings;

use Exporter 'import';
our @EXPORT = qw(column_value column_queries row_of);

# Each type has a dense middle, so that values repeat and ranges hit, and the values at its ends and around special
# cases. All are SQL strings without quotes.
my %types = (
	bool => { dense => sub { $_[0]->pick('true', 'false') }, special => [ 'true', 'false' ] },
	'"char"' => {
		dense => sub { $_[0]->pick('a' .. 'f') },
		special => [ '', ' ', '~', '\\200', '\\377', '\\001' ]
	},
	int2 => { dense => sub { $_[0]->between(-12, 12) }, special => [ -32768, -32767, 32766, 32767 ] },
	int4 => {
		dense => sub { $_[0]->between(-12, 12) },
		special => [ -2147483648, -2147483647, 2147483646, 2147483647, -32769, 32768 ]
	},
	int8 => {
		dense => sub { $_[0]->between(-12, 12) },
		special => [
			'-9223372036854775808', '-9223372036854775807', '9223372036854775806', '9223372036854775807',
			'-2147483649', '2147483648'
		]
	},
	oid => { dense => sub { $_[0]->between(0, 25) }, special => [ 0, 1, 2147483647, 2147483648, 4294967294, 4294967295 ] },
	# These are days and minutes around a day that had no 2:00 to 3:00 in New York, and one that had 1:00 to 2:00 twice.
	date => {
		dense => sub { '2021-' . $_[0]->pick('03', '11') . '-' . $_[0]->pick('05' .. '15') },
		special => [ '-infinity', 'infinity', '4713-01-01 BC', '5874897-12-31', '294276-12-31', '294277-01-01', '2011-12-30', '2011-12-31' ]
	},
	timestamp => {
		dense => sub { _moment($_[0]) },
		special => [
			'-infinity', 'infinity', '4713-01-01 00:00:00 BC', '294276-12-31 23:59:59.999999', '2021-03-14 02:30:00',
			'2021-11-07 01:30:00', '2011-12-30 00:00:00', '2000-01-01 00:00:00.000001'
		]
	},
	timestamptz => {
		dense => sub { _moment($_[0]) . '+00' },
		special => [
			'-infinity', 'infinity', '4713-01-02 00:00:00+00 BC', '294276-12-31 12:00:00+00', '2021-03-14 07:00:00+00',
			'2021-11-07 05:30:00+00', '2011-12-30 10:00:00+00', '1999-12-31 23:59:59.999999+00'
		]
	},
	time => {
		dense => sub { sprintf('%02d:%02d:00', $_[0]->between(0, 3), $_[0]->pick(0, 20, 40)) },
		special => [ '00:00:00', '24:00:00', '23:59:59.999999', '00:00:00.000001' ]
	},
	float4 => {
		dense => sub { $_[0]->between(-24, 24) / 2 },
		special => [ 'NaN', 'Infinity', '-Infinity', '-0', '0', '1e-45', '-1e-45', '3.4028235e38', '-3.4028235e38', '0.1', '1.1754944e-38' ]
	},
	float8 => {
		dense => sub { $_[0]->between(-24, 24) / 2 },
		special => [
			'NaN', 'Infinity', '-Infinity', '-0', '0', '5e-324', '-5e-324', '1.7976931348623157e308', '0.1', '3.5e38', '-3.5e38',
			'1e-46', '-1e-46', '0.10000000149011612', '0.1000000015'
		]
	},
	uuid => {
		dense => sub { sprintf('%08x-0000-4000-8000-%012x', $_[0]->between(0, 4), $_[0]->between(0, 5)) },
		special => [
			'00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
			'00000000-0000-0000-8000-000000000000', '7fffffff-ffff-ffff-ffff-ffffffffffff', '80000000-0000-0000-0000-000000000000'
		]
	},
	macaddr => {
		dense => sub { sprintf('08:00:2b:00:00:%02x', $_[0]->between(0, 25)) },
		special => [ '00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff', '7f:ff:ff:ff:ff:ff', '80:00:00:00:00:00' ]
	},
	macaddr8 => {
		dense => sub { sprintf('08:00:2b:ff:fe:00:00:%02x', $_[0]->between(0, 25)) },
		special => [ '00:00:00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff:ff:ff', '7f:ff:ff:ff:ff:ff:ff:ff', '80:00:00:00:00:00:00:00' ]
	});

# The types that a column of a type is compared with besides its own.
my %relatives = (
	(map { ($_ => [ 'int2', 'int4', 'int8' ]) } qw(int2 int4 int8)),
	(map { ($_ => [ 'float4', 'float8' ]) } qw(float4 float8)),
	(map { ($_ => [ 'date', 'timestamp', 'timestamptz' ]) } qw(date timestamp timestamptz)));

sub _moment
{
	my ($random) = @_;
	return sprintf('2021-%s %02d:%02d:00', $random->pick('03-13', '03-14', '11-07'), $random->between(0, 8), $random->pick(0, 30));
}

# A value of a type, without quotes.
sub column_value
{
	my ($random, $type) = @_;
	return $random->once_in(8) ? $random->pick(@{ $types{$type}{special} }) : $types{$type}{dense}->($random);
}

# A literal of the column's type or, with $any, of one it is compared with.
sub _constant
{
	my ($random, $type, $any) = @_;
	$type = $random->pick(@{ $relatives{$type} }) if $any && $relatives{$type};
	return "'" . column_value($random, $type) . "'::$type";
}

sub _array
{
	my ($random, $type, $size) = @_;
	$type = $random->pick(@{ $relatives{$type} }) if $relatives{$type} && $random->once_in(2);
	my @elements = map { "'" . column_value($random, $type) . "'" } 1 .. $size;
	push @elements, 'NULL' if $random->once_in(3);
	return 'ARRAY[' . join(', ', @elements) . "]::${type}[]";
}

# A condition on one column. Equality of a boolean column is not among them:
# the planner of PostgreSQL 15 makes `b = true` into `b`, which only its own
# access methods' indexes answer.
sub _condition
{
	my ($random, $column) = @_;
	my ($name, $type) = @$column{qw(name type)};
	my @operators = $type eq 'bool' ? qw(< <= >= >) : qw(< <= = = = >= >);
	my $case = $random->between(0, 9);
	return "$name IS NULL" if $case == 0;
	return "$name IS NOT NULL" if $case == 1;
	return "$name = ANY (" . _array($random, $type, $random->between(1, 9)) . ')' if $case <= 3;
	return "$name " . $random->pick(qw(< <= >= >)) . ' ANY (' . _array($random, $type, $random->between(1, 3)) . ')' if $case == 4;
	return "$name BETWEEN " . _constant($random, $type) . ' AND ' . _constant($random, $type) if $case == 5 && $type ne 'bool';
	return "$name " . $random->pick(@operators) . ' ' . _constant($random, $type, 1);
}

# A comparison of a row: of neighbouring columns, now and then of any, with constants that may be of other types or NULL.
sub _row_comparison
{
	my ($random, @columns) = @_;
	my $first = $random->between(0, $#columns - 1);
	my $last = $random->between($first + 1, $#columns);
	my @compared = $random->once_in(4) ? map { $random->pick(@columns) } 1, 2 : @columns[ $first .. $last ];
	my @constants = map { $random->once_in(10) ? "NULL::$_->{type}" : _constant($random, $_->{type}, 1) } @compared;
	my ($left, $right) = map { '(' . join(', ', @$_) . ')' } [ map { $_->{name} } @compared ], \@constants;
	($left, $right) = ($right, $left) if $random->once_in(4);
	return "$left " . $random->pick(qw(< <= >= >)) . " $right";
}

# The values of a row as a list for VALUES.
sub row_of
{
	my ($random, $columns) = @_;
	return join(', ', map { $random->once_in($_->{nulls} || 10) ? 'NULL' : "'" . column_value($random, $_->{type}) . "'" } @$columns);
}

# $count random queries for check_queries. Options: random, table, columns (hashes
# of name, type and order, the index's columns), count.
sub column_queries
{
	my (%option) = @_;
	my ($random, $table, $columns) = @option{qw(random table columns)};
	my @columns = @$columns;
	my $returnable = !grep { $_->{type} =~ /float/ } @columns;
	# -0 and 0 are equal, so either may come first. Adding 0 makes both of them 0.
	my @values = map { $_->{type} =~ /float/ ? "($_->{name} + 0::$_->{type})" : $_->{name} } @columns;
	my $k = @columns == 1 ? "$values[0]::text" : 'ROW(' . join(', ', @values) . ')::text';
	my %reverse = ('ASC' => 'DESC', 'DESC' => 'ASC', 'FIRST' => 'LAST', 'LAST' => 'FIRST');
	my @orders = map { my $by = $_; join(', ', map {
		my ($direction, $nulls) = $_->{order} =~ /^(ASC|DESC) NULLS (FIRST|LAST)$/ or die "order $_->{order}";
		$by ? "$_->{name} $direction NULLS $nulls" : "$_->{name} $reverse{$direction} NULLS $reverse{$nulls}"
	} @columns) } 1, 0;

	my @queries;
	for my $number (1 .. $option{count})
	{
		# Leading columns are drawn more often than others, and now and then a column twice.
		my @conditions;
		for my $i (0 .. $#columns)
		{
			push @conditions, _condition($random, $columns[$i]) if $random->between(0, 9) < 8 - 2 * ($i > 2 ? 2 : $i);
			push @conditions, _condition($random, $columns[$i]) if $random->once_in(6);
		}
		push @conditions, _condition($random, $random->pick(@columns)) unless @conditions;
		my $mode = $random->pick('index', 'bitmap', $returnable ? ('index_only', 'index_only', 'count') : ());
		# No index counts by such a comparison alone.
		push @conditions, _row_comparison($random, @columns) if @columns > 1 && $mode ne 'count' && $random->once_in(3);
		my $where = join(' AND ', @conditions);
		my $columns = $mode eq 'index' || $mode eq 'bitmap' ? "$k AS k, id, ctid" : "$k AS k";
		if ($mode eq 'count')
		{
			# Of several conditions the planner may see that they contradict each other, and an array on a later column
			# it may rather check afterwards. So counts have one condition on the first column, or a range of another.
			push @queries, { sql => "SELECT count(*) AS k FROM $table WHERE " . _condition($random, $columns[0]), mode => $mode };
			my $later = $random->pick(@columns);
			my $range = "$later->{name} " . $random->pick(qw(< <= >= >)) . ' ' . _constant($random, $later->{type}, 1);
			push @queries, { sql => "SELECT count(*) AS k FROM $table WHERE $range", mode => $mode };
			next;
		}
		push @queries, { sql => "SELECT $columns FROM $table WHERE $where", mode => $mode };
		next if $mode eq 'bitmap' || !$random->once_in(2);
		# All columns take part in the order, so that ties don't show.
		my $ordered = $mode eq 'index' ? "$k AS k, " . ($random->once_in(2) ? 'id' : 'ctid') : "$k AS k";
		my $order = $random->pick(@orders);
		push @queries, { sql => "SELECT $ordered FROM $table WHERE $where ORDER BY $order", mode => $mode, ordered => 1 };
		push @queries,
		  {
			sql => "SELECT $k AS k FROM $table WHERE $where ORDER BY $order LIMIT "
			  . $random->between(1, 20) . ' OFFSET ' . $random->between(0, 5),
			mode => $mode, ordered => 1
		  };
	}
	for my $mode ('index', $returnable ? 'index_only' : ())
	{
		push @queries, { sql => "SELECT $k AS k FROM $table ORDER BY $_", mode => $mode, ordered => 1 } for @orders;
	}
	return @queries;
}

1;
