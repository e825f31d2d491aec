package PgGpuTest::Fuzz::Expressions;

# Random expressions over a table's columns.
#
#   my $made = PgGpuTest::Fuzz::Expressions->new($random, @columns);
#   $made->of_class('int', 2)     an expression of integers, two levels deep at most
#   $made->condition(2)           a condition
#   $made->{risks}                SQLSTATEs that what has been made so far may raise
#
# Constants become parameters where $made->{parameters} is a list, which then has hashes of type and literal, and columns of
# an outer row where $made->{outer} is a hash of them by type.

use strict;
use warnings FATAL => 'all';

use PgGpuTest::Fuzz::Tables;
use PgGpuTest::Fuzz::Types;

sub new
{
	my ($class, $random, @columns) = @_;
	return bless { random => $random, columns => [@columns], risks => {}, table => undef }, $class;
}

sub _pick { my ($self, @list) = @_; return $self->{random}->pick(@list); }

# One of some ways, which are code.
sub _way { my ($self, @ways) = @_; return $self->{random}->pick(@ways)->(); }

sub _may_raise { my ($self, $expression, @states) = @_; $self->{risks}{$_} = 1 foreach @states; return $expression; }

sub columns_of
{
	my ($self, @classes) = @_;
	my %wanted = map { $_ => 1 } @classes;
	return grep { $wanted{ type_of($_->{type})->{class} } } @{ $self->{columns} };
}

# One of the classes of which there are columns; the first one otherwise.
sub class_of
{
	my ($self, @classes) = @_;
	my @there = grep { $self->columns_of($_) } @classes;
	return @there ? $self->_pick(@there) : $classes[0];
}

sub constant
{
	my ($self, $type, $literal) = @_;
	my $random = $self->{random};
	return $self->{outer}{$type} if $self->{outer} && $self->{outer}{$type} && $random->once_in(2);
	if ($self->{parameters} && $random->once_in(2))
	{
		push @{ $self->{parameters} }, { type => $type, literal => $literal };
		return '$' . scalar @{ $self->{parameters} };
	}
	# By an InitPlan.
	return "(SELECT $literal)" if $random->once_in(20);
	return $literal;
}

sub _value_of_column
{
	my ($self, $column) = @_;
	my $type = $self->{random}->once_in(4) ? $self->_pick(relatives_of($column->{type})) : $column->{type};
	return $self->constant(sql_type($type), random_literal($self->{random}, $type));
}

sub _number { my ($self, $low, $high) = @_; return $self->constant('int4', $self->{random}->between($low, $high)); }

# ---- by class ----------------------------------------------------------------------------------------------

my %constants = (
	int => sub { $_[0]->_pick("'" . $_[0]{random}->between(-9, 9) . "'::int2", $_[0]->_number(-20, 20), '5000000000', '1', '0') },
	float => sub { $_[0]->_pick("'0.5'::float8", "'-0'::float8", "'NaN'::float8", "'2'::float4") },
	numeric => sub { $_[0]->_pick('1.5', '0.00', '-2.250', '100') },
	text => sub { $_[0]->_pick("'a'", "''", "'B2'", "'zz'") },
	date => sub { "date '2021-03-" . $_[0]->_pick('05' .. '15') . "'" },
	timestamp => sub { "timestamp '2021-03-13 0" . $_[0]{random}->between(0, 8) . ":00'" },
	timestamptz => sub { "timestamptz '2021-11-07 0" . $_[0]{random}->between(0, 8) . ":00+00'" },
	interval => sub { $_[0]->_pick("interval '1 day'", "interval '720:00'") },
	bool => sub { $_[0]->_pick('true', 'false', 'NULL::bool') },);

# An expression of a class, of so many levels at most. Without a column of it, it is made of others.
sub of_class
{
	my ($self, $class, $depth) = @_;
	my @columns = $self->columns_of($class);
	my $column = @columns ? $self->_pick(@columns)->{name} : undef;
	return $column if defined $column && ($depth <= 0 || $self->{random}->once_in(3));
	return $constants{$class}->($self) if $depth <= 0;
	return $self->_of_any($class, $depth) if $self->{random}->once_in(4);
	my $made = "_of_$class";
	return $self->$made($depth - 1);
}

# What there is of every class.
sub _of_any
{
	my ($self, $class, $depth) = @_;
	my $one = sub { $self->of_class($class, $depth - 1) };
	my $condition = sub { $self->condition($depth > 1 ? 1 : 0) };
	return $self->_way(
		sub { 'CASE WHEN ' . $condition->() . ' THEN ' . $one->() . ' ELSE ' . $one->() . ' END' },
		sub { 'CASE WHEN ' . $condition->() . ' THEN ' . $one->() . ' END' },
		sub { 'CASE ' . $one->() . ' WHEN ' . $constants{$class}->($self) . ' THEN ' . $one->() . ' ELSE ' . $constants{$class}->($self) . ' END' },
		sub { 'coalesce(' . $one->() . ', ' . $constants{$class}->($self) . ')' },
		sub { 'coalesce(' . $one->() . ', ' . $one->() . ')' },
		$class eq 'int' ? sub {
			my $divisor = $self->of_class('int', 0);
			$self->_may_raise("CASE WHEN $divisor <> 0 THEN " . $self->_pick($one->(), '100') . " / $divisor END", '22003');
		} : (),
		sub { 'nullif(' . $one->() . ', ' . $constants{$class}->($self) . ')' },
		$class eq 'bool' ? () : sub { $self->_pick('greatest', 'least') . '(' . $one->() . ', ' . $one->() . ')' });
}

sub _of_int
{
	my ($self, $depth) = @_;
	my $one = sub { $self->of_class('int', $depth) };
	my @dates = $self->columns_of('date');
	my @moments = $self->columns_of('date', 'timestamp', 'timestamptz');
	my @times = $self->columns_of('timestamp', 'timestamptz');
	return $self->_way(
		sub { $self->_may_raise('(' . $one->() . $self->_pick(' + ', ' - ', ' * ') . $one->() . ')', '22003') },
		sub { $self->_may_raise('(' . $one->() . $self->_pick(' + ', ' - ') . $self->_number(0, 9) . ')', '22003') },
		# Never by 0.
		sub { '(' . $one->() . ' % ' . $self->_pick(2, 3, 7, 100) . ')' },
		sub { '(' . $one->() . ' / ' . $self->_pick(2, 3, 7, 100) . ')' },
		sub { $self->_may_raise('(' . $one->() . $self->_pick(' / ', ' % ') . 'nullif(' . $one->() . ', 0))', '22003') },
		$self->{random}->once_in(6) ? sub { $self->_may_raise('(' . $one->() . $self->_pick(' / ', ' % ') . $one->() . ')', '22012', '22003') } : (),
		sub { $self->_may_raise('(- ' . $one->() . ')', '22003') },
		sub { $self->_may_raise('abs(' . $one->() . ')', '22003') },
		sub { '(' . $one->() . ' & 7)' },
		sub { $self->_may_raise('(' . $one->() . ')::' . $self->_pick('int2', 'int4'), '22003') },
		sub { '(' . $one->() . ')::int8' },
		$self->columns_of('text') ? sub { 'length(' . $self->of_class('text', $depth) . ')' } : (),
		$self->columns_of('text') ? sub { 'ascii(' . $self->of_class('text', $depth) . ')' } : (),
		$self->columns_of('bool') ? sub { '(' . $self->of_class('bool', $depth) . ')::int4' } : (),
		@moments ? sub { $self->_may_raise('extract(' . $self->_pick('dow', 'month', 'year') . ' FROM ' . $self->_pick(@moments)->{name} . ')::int4', '22003', '0A000') } : (),
		@times ? sub { $self->_may_raise('(extract(' . $self->_pick('year', 'week', 'month') . ' FROM ' . $self->_pick(@times)->{name} . ')::int4 * 100 + extract(' . $self->_pick('day', 'dow', 'hour') . ' FROM ' . $self->_pick(@times)->{name} . ')::int4)', '22003', '0A000') } : (),
		@times ? sub { $self->_may_raise('(floor(extract(epoch FROM ' . $self->_pick(@times)->{name} . ') / ' . $self->_pick(86400, 604800, 3600.5, -300) . ') * 300)::int8', '22003', '0A000') } : (),
		@dates ? sub { $self->_may_raise('(' . $self->_pick(@dates)->{name} . ' - ' . $self->_pick($constants{date}->($self), $self->_pick(@dates)->{name}) . ')', '22008') } : (),
		$self->columns_of('numeric') ? sub { $self->_may_raise('(' . $self->of_class('numeric', $depth) . ')::' . $self->_pick('int2', 'int4', 'int8'), '22003', '0A000') } : (),
		$self->columns_of('numeric') ? sub { $self->_may_raise('round(' . $self->of_class('numeric', $depth) . ')::int8', '22003', '0A000') } : (),
		# Of a column without a dictionary these are found by ranges.
		$self->columns_of('numeric') ? sub { $self->_may_raise('width_bucket(' . $self->_pick($self->columns_of('numeric'))->{name} . $self->_pick('', '::float8') . ', -400, ' . $self->_pick('400', '20000.5', '-1000') . ', 7)', '2201G', '22003') } : (),
		$self->columns_of('numeric') ? sub { $self->_may_raise('(' . $self->_pick($self->columns_of('numeric'))->{name} . ' / ' . $self->_pick('3', '0.7', '-50') . ')::' . $self->_pick('int4', 'int8'), '22003', '0A000') } : (),
		$self->columns_of('text') ? sub { $self->_may_raise('(' . $self->of_class('text', $depth) . ')::int4', '22P02', '22003') } : ());
}

sub _of_float
{
	my ($self, $depth) = @_;
	my $one = sub { $self->of_class('float', $depth) };
	return $self->_way(
		sub { $self->_may_raise('(' . $one->() . $self->_pick(' + ', ' - ', ' * ') . $one->() . ')', '22003') },
		sub { $self->_may_raise('(' . $one->() . ' / ' . $one->() . ')', '22012', '22003') },
		sub { '(- ' . $one->() . ')' },
		sub { 'abs(' . $one->() . ')' },
		sub { $self->_pick('floor', 'round', 'trunc', 'sign') . '(' . $one->() . ')' },
		$self->columns_of('int') ? sub { '(' . $self->of_class('int', $depth) . ')::float8' } : (),
		$self->columns_of('numeric') ? sub { $self->_may_raise('(' . $self->of_class('numeric', $depth) . ')::float8', '22003') } : ());
}

sub _of_numeric
{
	my ($self, $depth) = @_;
	my $one = sub { $self->of_class('numeric', $depth) };
	my @moments = $self->columns_of('timestamp');
	return $self->_way(
		sub { $self->_may_raise('(' . $one->() . ' % ' . $self->_pick($one->(), 'nullif(' . $one->() . ', 0)', '0.7') . ')', '22012') },
		sub { $self->_pick('ceil', 'floor', 'sign', 'round', 'trunc') . '(' . $one->() . ')' },
		# How long something took.
		@moments ? sub { $self->_may_raise('extract(epoch FROM ' . $self->_pick(@moments)->{name} . ' - ' . $self->of_class('timestamp', 0) . ')', '22008') } : (),
		@moments ? sub { '(extract(' . $self->_pick('hour', 'doy', 'quarter') . ' FROM ' . $self->_pick(@moments)->{name} . ') + extract(' . $self->_pick('year', 'month') . ' FROM ' . $self->_pick(@moments)->{name} . '))' } : (),
		sub { '(' . $one->() . $self->_pick(' + ', ' - ', ' * ') . $one->() . ')' },
		sub { '(' . $one->() . $self->_pick(' + 0.005', ' * 2', ' - 1', ' * -1.50') . ')' },
		sub { '(' . $one->() . ' / ' . $self->_pick('3', '0.7') . ')' },
		sub { $self->_pick('floor', 'ceil', 'round', 'trunc') . '(' . $one->() . ' / ' . $self->_pick('3', '50', '-0.7') . ')' },
		sub { $self->_may_raise('(' . $one->() . ' / ' . $one->() . ')', '22012') },
		sub { $self->_pick('round', 'trunc') . '(' . $one->() . ', ' . $self->_pick(0, 1, 3, -1) . ')' },
		sub { 'abs(' . $one->() . ')' },
		$self->columns_of('int') ? sub { '(' . $self->of_class('int', $depth) . ')::numeric' } : (),
		sub { $self->_may_raise('(' . $one->() . ')::numeric(12,3)', '22003') });
}

sub _of_text
{
	my ($self, $depth) = @_;
	my $one = sub { $self->of_class('text', $depth) };
	my @shown = grep { type_of($_->{type})->{class} ne 'caseless' } @{ $self->{columns} };
	my @dates = $self->columns_of('date', 'timestamp');
	my @times = $self->columns_of('timestamp', 'timestamptz');
	return $self->_way(
		sub { $self->_pick('lower', 'upper', 'initcap', 'md5', 'reverse', 'btrim') . '(' . $one->() . ')' },
		sub { $self->_pick('left', 'right') . '(' . $one->() . ', ' . $self->{random}->between(0, 4) . ')' },
		sub { 'substring(' . $one->() . ' from ' . $self->{random}->between(1, 3) . ' for ' . $self->{random}->between(0, 4) . ')' },
		sub { '(' . $one->() . " || 'x')" },
		sub { "replace(" . $one->() . ", 'a', 'bb')" },
		$self->columns_of('int') ? sub { '(' . $self->of_class('int', $depth) . ')::text' } : (),
		@shown ? sub { '(' . $self->_pick(@shown)->{name} . ')::text' } : (),
		@dates ? sub { $self->_may_raise('to_char(' . $self->_pick(@dates)->{name} . "::timestamp, 'YYYY-MM')", '22008') } : (),
		@times ? sub { 'to_char(' . $self->_pick(@times)->{name} . ', ' . $self->_pick("'YYYY-MM'", "'Dy HH24'", "'IYYY-IW'", "'Day DDth'") . ')' } : ());
}

sub _of_date
{
	my ($self, $depth) = @_;
	my @moments = $self->columns_of('timestamp', 'timestamptz');
	return $self->_way(
		sub { $self->_may_raise('(' . $self->of_class('date', $depth) . ' + ' . $self->{random}->between(-40, 400) . ')', '22008') },
		@moments ? sub { $self->_pick(@moments)->{name} . '::date' } : (),
		sub { $self->_may_raise("date_trunc('month', " . $self->of_class('date', $depth) . '::timestamp)::date', '22008') });
}

sub _of_timestamp
{
	my ($self, $depth) = @_;
	my $one = sub { $self->of_class('timestamp', $depth) };
	my @zoned = $self->columns_of('timestamptz');
	return $self->_way(
		sub { 'date_trunc(' . $self->_pick("'hour'", "'day'", "'month'", "'week'") . ', ' . $one->() . ')' },
		$self->columns_of('date') ? sub { $self->_may_raise($self->of_class('date', $depth) . '::timestamp', '22008') } : (),
		sub { $self->_may_raise('(' . $one->() . ' + ' . $self->_pick("interval '1 hour'", "interval '1 mon'") . ')', '22008') },
		sub { $self->_may_raise("(date_trunc('week', " . $one->() . " + interval '1 day') - interval '1 day')", '22008') },
		@zoned ? sub { $self->_may_raise('(' . $self->_pick(@zoned)->{name} . " AT TIME ZONE 'America/New_York')", '22008') } : ());
}

sub _of_timestamptz
{
	my ($self, $depth) = @_;
	my $one = sub { $self->of_class('timestamptz', $depth) };
	return $self->_way(
		sub { $self->_may_raise('date_trunc(' . $self->_pick("'hour'", "'day'", "'year'") . ', ' . $one->() . ')', '22008') },
		$self->columns_of('timestamp') ? sub { $self->_may_raise($self->of_class('timestamp', $depth) . '::timestamptz', '22008') } : ());
}

sub _of_interval
{
	my ($self, $depth) = @_;
	my @columns = $self->columns_of('timestamp');
	return $self->_way(
		sub { $self->_may_raise('(' . $self->of_class('interval', $depth) . ' * 2)', '22008', '22003') },
		@columns ? sub { $self->_may_raise('(' . $self->_pick(@columns)->{name} . ' - ' . $self->of_class('timestamp', 0) . ')', '22008') } : (),
		sub { $self->_may_raise('(- ' . $self->of_class('interval', 0) . ')', '22008', '22003') });
}

sub _of_bool { my ($self, $depth) = @_; return '(' . $self->condition($depth) . ')'; }

# ---- conditions --------------------------------------------------------------------------------------------

sub condition
{
	my ($self, $depth) = @_;
	my $random = $self->{random};
	return $self->_simple_condition if $depth <= 0 || $random->once_in(3);
	my $one = sub { '(' . $self->condition($depth - 1) . ')' };
	return $self->_way(
		sub { join ' AND ', map { $one->() } 1 .. $random->between(2, 3) },
		sub { join ' OR ', map { $one->() } 1 .. $random->between(2, 3) },
		sub { 'NOT ' . $one->() },
		sub { $one->() . ' IS ' . $self->_pick('', 'NOT ') . $self->_pick('TRUE', 'FALSE', 'UNKNOWN', 'NULL') },
		sub { 'CASE WHEN ' . $one->() . ' THEN ' . $one->() . ' ELSE ' . $one->() . ' END' });
}

# Text of several columns has no collation of its own.
sub _collated
{
	my ($self, $class, $expression) = @_;
	return $class eq 'text' ? "($expression) COLLATE \"C\"" : $expression;
}

sub _simple_condition
{
	my ($self) = @_;
	my $random = $self->{random};
	my $column = $self->_pick(@{ $self->{columns} });
	my ($name, $class) = ($column->{name}, type_of($column->{type})->{class});
	my $value = sub { $self->_value_of_column($column) };
	my $operator = sub { $self->_pick(qw(< <= = = <> >= >)) };
	my $ordered = $column->{type} !~ /^(bool|pair)$/;
	my $sql = sql_type($column->{type});
	my $is_text = $class =~ /^(text|char)$/;
	my @list = map { random_literal($random, $column->{type}) } 1 .. $random->between(1, 5);
	push @list, 'NULL' if $random->once_in(5);
	my @same = grep { $_ ne $column } $self->columns_of($class);
	return $name if $column->{type} eq 'bool' && $random->once_in(2);
	return $self->_way(
		(sub { "$name " . $operator->() . ' ' . $value->() }) x 3,
		sub { $value->() . ' ' . $operator->() . " $name" },
		sub { "$name IS " . $self->_pick('', 'NOT ') . 'NULL' },
		sub { "$name IS " . $self->_pick('', 'NOT ') . 'DISTINCT FROM ' . $value->() },
		sub { "$name IN (" . join(', ', @list) . ')' },
		sub { "$name NOT IN (" . join(', ', @list) . ')' },
		$sql =~ /\[\]/ ? () : sub { "$name " . $self->_pick('= ANY', '<> ALL', '< ANY', '>= ALL') . ' ((' . $self->constant("${sql}[]", 'ARRAY[' . join(', ', @list) . "]::${sql}[]") . ")::${sql}[])" },
		sub { "$name BETWEEN " . $value->() . ' AND ' . $value->() },
		$is_text ? sub { "$name " . $self->_pick('LIKE', 'NOT LIKE', 'ILIKE', '~', '!~*') . ' ' . $self->_pick("'a%'", "'%1%'", "'_2'", "'%'", "'B2'", "'[0-5]'") } : (),
		@same && $class !~ /other|oid|time$|caseless/ ? sub {
			my $other = $self->_pick(@same);
			$self->_collated($class, $name) . ' ' . $operator->() . ' ' . $self->_collated($class, $other->{name});
		} : (),
		@same && $class =~ /^(int|float|date|numeric)$/ ? sub { "$name IS " . $self->_pick('', 'NOT ') . 'DISTINCT FROM ' . $self->_pick(@same)->{name} } : (),
		(sub {
			my $of = $self->class_of(qw(int int float numeric text date timestamp));
			$self->_collated($of, $self->of_class($of, 1)) . ' ' . $operator->() . ' ' . $self->_collated($of, $self->of_class($of, $random->between(0, 1)));
		}) x 3,
		$class =~ /^(int|float|numeric|date|timestamp)$/ && $self->{table} ? sub {
			"$name " . $operator->() . " (SELECT " . $self->_pick('min', 'max') . "($name) FROM $self->{table}" . ($random->once_in(2) ? " WHERE $name < " . $value->() : '') . ')';
		} : (),
		$self->{table} && $self->{own}{$name} ? sub {
			"$name " . $self->_pick('IN', 'NOT IN') . " (SELECT $name FROM $self->{table} WHERE $name " . $operator->() . ' ' . $value->() . ($random->once_in(3) ? " OR $name IS NULL)" : ')');
		} : (),
		sub { $self->_pick('true', 'false', 'NULL::bool', "$name = $name") });
}

1;
