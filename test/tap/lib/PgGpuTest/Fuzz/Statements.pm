package PgGpuTest::Fuzz::Statements;

# Random statements that aggregate a table, or one that is joined with others, or ask for rows of these, all or the first ones in an order.
#
#   my $statement = random_statement($random, $table);
#   sql_of($statement)            the text
#   $statement->{kinds}           how each column of the answer is compared
#   $statement->{parameters}      of a prepared statement: a list of hashes of type and literal; or undef
#   $statement->{is_ordered}      the rows' order is told by the statement
#   $statement->{risks}           hash of SQLSTATEs that it may raise
#   $statement->{order_decides}   whether one of these is raised may depend on which condition is evaluated first
#   $statement->{has_joins}       or on which tables are joined first
#   $statement->{has_limit}       or on which rows a plan needn't compute
#   simpler_statements($statement)   copies with something left out

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
our @EXPORT = qw(random_statement sql_of simpler_statements);

use PgGpuTest::Fuzz::Expressions;
use PgGpuTest::Fuzz::Tables;
use PgGpuTest::Fuzz::Types;

# ---- parts ------------------------------------------------------------------------------------------------

# Grouped by columns, of which any type will do, and by expressions.
sub _key
{
	my ($random, $made) = @_;
	my $column = $random->pick(@{ $made->{columns} });
	return { sql => $column->{name}, kind => kind_of($column->{type}) } if !$random->once_in(3);
	my $class = $made->class_of(qw(int int text text bool date timestamp timestamptz float numeric));
	my $kind = $class =~ /^(float|numeric)$/ ? $class : 'exact';
	my $sql = $made->of_class($class, $random->between(1, 2));
	# Of text of all collations, caseless too.
	return { sql => $sql, kind => $kind };
}

# The argument of an aggregate: a column or an expression of a class.
sub _argument { my ($random, $made, $class) = @_; return $made->of_class($class, $random->pick(0, 0, 1, 1, 2)); }

sub _extreme
{
	my ($random, $made) = @_;
	my @columns = grep { type_of($_->{type})->{extremes} } @{ $made->{columns} };
	if (@columns && !$random->once_in(4))
	{
		my $column = $random->pick(@columns);
		return ($column->{name}, kind_of($column->{type}));
	}
	my $class = $made->class_of(qw(int text date timestamp numeric float));
	return (_argument($random, $made, $class), $class =~ /^(float|numeric)$/ ? $class : 'exact');
}

sub _aggregate
{
	my ($random, $made) = @_;
	my ($sql, $kind, $of_numerics) = ('', 'exact', 0);
	my $distinct = $random->once_in(8) ? 'DISTINCT ' : '';
	my $way = $random->between(0, 22);
	if ($way < 3) { $sql = 'count(*)'; }
	elsif ($way < 5) { $sql = "count($distinct" . ($random->once_in(2) ? $random->pick(@{ $made->{columns} })->{name} : _argument($random, $made, $made->class_of(qw(int text bool date numeric)))) . ')'; }
	elsif ($way < 9 && $made->columns_of('int')) { $sql = $random->pick('sum', 'sum', 'avg') . "($distinct" . _argument($random, $made, 'int') . ')'; }
	elsif ($way < 11 && $made->columns_of('numeric'))
	{
		my $function = $random->pick('sum', 'sum', 'avg');
		$of_numerics = 1;
		# What is shown behind the point follows from the rows, unless equal values stand for each other.
		$kind = $distinct ? 'numeric' : 'exact';
		# The scale of the quotient depends on which of several equal values has remained.
		$kind = 'approximate' if $distinct && $function eq 'avg';
		$sql = "$function($distinct" . _argument($random, $made, 'numeric') . ')';
	}
	elsif ($way < 15)
	{
		my ($argument, $of) = _extreme($random, $made);
		($sql, $kind) = ($random->pick('min', 'max') . "($distinct$argument)", $of);
	}
	elsif ($way == 15) { $sql = $random->pick('bool_and', 'bool_or', 'every') . '(' . _argument($random, $made, 'bool') . ')'; }
	elsif ($way == 16) { $sql = $random->pick('bit_and', 'bit_or', 'bit_xor') . '(' . _argument($random, $made, 'int') . ')'; }
	elsif ($way == 17)
	{
		my $class = $made->class_of('int', 'int', 'numeric');
		$kind = 'numeric';
		$kind = 'approximate' if $distinct;
		$sql = $random->pick(qw(var_pop var_samp variance stddev_pop stddev_samp stddev)) . "($distinct" . _argument($random, $made, $class) . ')';
	}
	elsif ($way == 18 && (my @floats = $made->columns_of('float')))
	{
		$kind = 'approximate';
		$sql = $random->pick(qw(sum avg stddev var_pop)) . '(' . $random->pick(@floats)->{name} . ')';
		$sql = $random->pick(qw(corr covar_pop regr_count regr_avgx regr_sxy)) . '(' . $random->pick(@floats)->{name} . ', ' . $random->pick(@floats)->{name} . ')' if $random->once_in(5);
	}
	elsif ($way == 19 && $made->columns_of('float'))
	{
		$kind = 'approximate';
		$sql = $random->pick(qw(sum avg)) . '(' . _argument($random, $made, 'float') . ')';
	}
	elsif ($way == 20 && $made->columns_of('float'))
	{
		$kind = 'float';
		$sql = 'percentile_cont(' . $random->pick(0, 0.25, 0.5, 0.9, 1) . ') WITHIN GROUP (ORDER BY ' . _argument($random, $made, 'float') . ')';
	}
	elsif ($way == 21)
	{
		(my $argument, $kind) = _extreme($random, $made);
		$sql = $random->pick('mode()', 'percentile_disc(' . $random->pick(0, 0.3, 0.5, 1) . ')') . " WITHIN GROUP (ORDER BY $argument)";
	}
	else { $sql = "sum(" . _argument($random, $made, 'int') . ')'; }
	my $filter = $random->once_in(4) ? $made->condition($random->between(0, 1)) : undef;
	my $aggregate = { sql => $sql, filter => $filter, kind => $kind, of_numerics => $of_numerics };
	return $random->once_in(8) ? _wrapped($random, $aggregate) : $aggregate;
}

# What is computed from an aggregate's result.
sub _wrapped
{
	my ($random, $aggregate) = @_;
	my $is_number = $aggregate->{sql} =~ /^(sum|count|avg)\(/ && $aggregate->{kind} ne 'approximate';
	my @ways = (sub { $aggregate->{kind} = 'exact'; '(%s IS NULL)' });
	push @ways, sub { '(%s)::text' } if $aggregate->{kind} eq 'exact';
	push @ways, sub { 'coalesce(%s, 0)' }, sub { '(%s * 2 + count(*))' }, sub { 'CASE WHEN count(*) > 1 THEN %s END' } if $is_number;
	$aggregate->{wrap} = $random->pick(@ways)->();
	return $aggregate;
}

sub _aggregate_sql
{
	my ($aggregate) = @_;
	my $sql = $aggregate->{sql} . (defined $aggregate->{filter} ? " FILTER (WHERE $aggregate->{filter})" : '');
	return defined $aggregate->{wrap} ? join($sql, split(/%s/, $aggregate->{wrap}, -1)) : $sql;
}

sub _having
{
	my ($random, $made, $body) = @_;
	my @ways = (sub { 'count(*) ' . $random->pick('>', '<', '=', '>=') . ' ' . $made->constant('int8', $random->pick(1, 2, 10, 50)) });
	my @counted = grep { $_->{kind} eq 'exact' } @{ $body->{aggregates} };
	push @ways, sub { _aggregate_sql($random->pick(@counted)) . ' IS ' . $random->pick('', 'NOT ') . 'NULL' } if @counted;
	push @ways, sub { 'sum(' . $made->of_class('int', 0) . ') > ' . $made->constant('int8', $random->between(-20, 100)) };
	# What is asked of a key alone, PostgreSQL asks of the rows.
	my @keys = grep { $_->{kind} eq 'exact' } @{ $body->{keys} };
	push @ways, sub { $random->pick(@keys)->{sql} . ' IS NOT NULL' } if @keys;
	return join $random->pick(' AND ', ' OR '), map { $random->pick(@ways)->() } 1 .. $random->pick(1, 1, 2);
}

# Are there several conditions, so that an error of one depends on whether another comes before it?
sub _is_told_by_order
{
	my ($body, $risks) = @_;
	my @conditions = (@{ $body->{conditions} }, @{ $body->{having} });
	return $risks && (@conditions > 1 || "@conditions" =~ /\b(AND|OR)\b/);
}

# Where memory has no room for a hash table, PostgreSQL goes through all of a sub-select's rows for each row.
sub _may_look_up { my ($table) = @_; return $table->{rows} <= 5000; }

# Of a join, beside the comparison with its key: other columns of the table and of the joined table, which may be a range.
sub _further_condition
{
	my ($random, $table, $joined) = @_;
	my (undef, @others) = @{ $joined->{columns} };
	my @pairs;
	foreach my $other (grep { $_->{type} !~ /^(bool|pair)$/ } @others)
	{
		push @pairs, map { [ $_->{name}, $other->{name} ] } grep { $_->{type} eq $other->{type} } @{ $table->{indexed} };
	}
	return '' unless @pairs;
	my $condition = ' AND ' . join($random->pick(' = ', ' = ', ' <> ', ' <= ', ' < '), @{ $random->pick(@pairs) });
	return $condition . ($random->once_in(3) ? ' AND ' . join($random->pick(' > ', ' >= '), @{ $random->pick(@pairs) }) : '');
}

# The table itself in another role: its columns have other names.
sub _other_role
{
	my ($random, $table) = @_;
	my @columns = map { { name => "o_$_->{name}", type => $_->{type} } } @{ $table->{indexed} };
	my $number = $random->between(0, $#columns);
	my $renamed = join ', ', map { "$table->{indexed}[$_]{name} AS $columns[$_]{name}" } 0 .. $#columns;
	# The key comes first, as that of other tables does.
	my $key = splice @columns, $number, 1;
	my @fitting = grep { $_->{type} eq $key->{type} } @{ $table->{indexed} };
	return { name => "(SELECT $renamed FROM $table->{name}) AS other", key => $key->{name}, by => $random->pick(@fitting), columns => [ $key, @columns ] };
}

# Expressions that are equal where their arguments are, and raise no errors.
my %same_of = (
	int => [ '%s::numeric * 10', '%s::float8', '(%s)::int8' ], numeric => [ '%s * 2', '-%s', '%s + 0.001' ], float => ['-%s'], text => [ 'upper(%s)', "%s || '-'", 'md5(%s)' ], date => ['%s + 0'],
	bool => ['NOT %s'], timestamp => ["date_trunc('second', %s)"]);

# Rows of both meet where this is true.
sub _meeting
{
	my ($random, $table, $joined) = @_;
	my ($one, $other) = ($joined->{by}{name}, $joined->{key});
	# Pairs are so many that only small tables have time for them.
	return "$one " . $random->pick('<', '>=', '<>') . " $other" . ($random->once_in(2) ? _further_condition($random, $table, $joined) : '')
		if $table->{rows} <= 700 && $joined->{by}{type} !~ /bool|pair/ && $random->once_in(12);
	my $ways = $same_of{ type_of($joined->{by}{type})->{class} };
	my $same_class = type_of($joined->{columns}[0]{type})->{class} eq type_of($joined->{by}{type})->{class};
	if ($ways && $same_class && $random->once_in(6))
	{
		my $way = $random->pick(@$ways);
		($one, $other) = map { sprintf $way, $_ } $one, $other;
	}
	my $on = $random->once_in(2) ? "$one = $other" : "$other = $one";
	$on .= _further_condition($random, $table, $joined) if $random->once_in(4);
	return $on;
}

# Some of the tables that it can be joined with, each behind the one that it is joined by, and how.
sub _joins
{
	my ($random, $table) = @_;
	my @joins;
	my @joined = @{ $table->{joined} };
	push @joined, _other_role($random, $table) if $table->{rows} <= 700 && $random->once_in(8);
	foreach my $joined (@joined)
	{
		next if $random->once_in(3) || ($joined->{through} && !grep { $_->{joined} eq $joined->{through} && !$_->{exists} } @joins);
		my $kind = $random->pick('JOIN', 'JOIN', 'JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN', 'EXISTS', 'NOT EXISTS', _may_look_up($table) ? ('IN', 'NOT IN') : ());
		push @joins, { joined => $joined, kind => $kind, on => _meeting($random, $table, $joined), exists => scalar($kind =~ /EXISTS|^(NOT )?IN$/) };
	}
	return @joins;
}

# Is there a row of the joined table, or is the key among its keys?
sub _test_of
{
	my ($random, $join) = @_;
	my $joined = $join->{joined};
	return "$join->{kind} (SELECT FROM $joined->{name} WHERE $join->{on})" if $join->{kind} =~ /EXISTS/;
	my $some = $random->once_in(2) ? " WHERE $joined->{key} IS NOT NULL" : '';
	return "$joined->{by}{name} $join->{kind} (SELECT $joined->{key} FROM $joined->{name}$some)";
}

# Rows of the table several times, one behind the other: some of them, and some without a column.
sub _union
{
	my ($random, $made, $table, $from) = @_;
	my @members;
	foreach (1 .. $random->pick(2, 2, 3))
	{
		my $lost = $random->once_in(3) ? $random->pick(@{ $table->{columns} })->{name} : '';
		my $columns = join ', ', map { $_->{name} eq $lost ? 'NULL::' . sql_type($_->{type}) . " AS $lost" : $_->{name} } @{ $table->{columns} };
		push @members, "SELECT $columns FROM $from" . ($random->once_in(2) ? ' WHERE ' . $made->condition($random->between(0, 1)) : '');
	}
	return '(' . join(' UNION ALL ', @members) . ") AS $table->{name}";
}

# SELECT keys, aggregates FROM table WHERE ... GROUP BY ... HAVING ... ORDER BY ... LIMIT ...
sub _body
{
	my ($random, $made, $table, @joins) = @_;
	my $from = @{ $table->{parts} } && $random->once_in(8) ? $random->pick("ONLY $table->{name}", @{ $table->{parts} }) : $table->{name};
	my @own = @{ $made->{columns} };
	my @joined = grep { !$_->{exists} } @joins;
	my @tested = grep { $_->{exists} } @joins;
	my $union = $random->once_in(12) ? _union($random, $made, $table, $from) : undef;
	my $union_risks = keys %{ $made->{risks} };
	push @{ $made->{columns} }, map { @{ $_->{joined}{columns} } } @joined;
	my $body = { table => $union // $from, own_table => $from, joins => [ map { "$_->{kind} $_->{joined}{name} ON $_->{on}" } @joined ], keys => [], aggregates => [], conditions => [], having => [], sets => undef, windows => undef, order => undef, distinct => '' };
	my %keys = map { $_->{sql} => $_ } map { _key($random, $made) } 1 .. $random->pick(0, 0, 1, 1, 1, 2, 2, 3, 4, $random->between(1, 8));
	# Which of the tables a row is of.
	my $oid = $random->pick('tableoid', 'tableoid::regclass');
	$keys{$oid} = { sql => $oid, kind => 'exact' } if %keys && !@joined && !$union && $random->once_in(12);
	$body->{keys} = [ map { $keys{$_} } sort keys %keys ];
	push @{ $body->{aggregates} }, _aggregate($random, $made) foreach 1 .. ($random->once_in(25) ? $random->between(10, 25) : $random->pick(1, 1, 2, 3, 4));
	$body->{aggregates} = [] if @{ $body->{keys} } && $random->once_in(12);
	# No groups, but rows, mostly ordered by all that is shown of them.
	$body->{rows} = @{ $body->{keys} } && $random->once_in(5);
	$body->{aggregates} = [] if $body->{rows};
	my %elsewhere = %{ $made->{risks} };
	$made->{risks} = {};
	push @{ $body->{conditions} }, $made->condition($random->between(0, 2)) foreach 1 .. $random->pick(0, 0, 1, 1, 2);
	push @{ $body->{conditions} }, _test_of($random, $_) foreach @tested;
	push @{ $body->{conditions} }, _left_to_other($random, $table->{elsewhere}) if $table->{elsewhere} && $random->once_in(2);
	push @{ $body->{having} }, _having($random, $made, $body) if !$body->{rows} && $random->once_in(5) && (@{ $body->{keys} } || @{ $body->{aggregates} });
	# HAVING may ask of a key, which then is a condition like others.
	my $risks = $union_risks + keys(%{ $made->{risks} }) + (@{ $body->{having} } ? keys %elsewhere : 0);
	# A join is a condition as well.
	$body->{order_decides} = _is_told_by_order($body, $risks) || ($risks && (@joins || $union));
	$body->{has_joins} = @joins || @tested;
	$made->{risks} = { %elsewhere, %{ $made->{risks} } };
	$body->{sets} = $random->pick('ROLLUP', 'CUBE', 'SETS') if !$body->{rows} && @{ $body->{keys} } && @{ $body->{keys} } <= 3 && $random->once_in(15);
	# A key's other columns needn't be grouped by.
	if ($table->{key} && !$union && !$body->{sets} && !$body->{rows} && grep { $_->{sql} eq $table->{key} } @{ $body->{keys} })
	{
		my $column = $random->pick(@own);
		push @{ $body->{aggregates} }, { sql => $column->{name}, kind => kind_of($column->{type}) };
	}
	$body->{windows} = $random->pick('rank() OVER (ORDER BY count(*))', 'sum(count(*)) OVER ()') if !$body->{rows} && $random->once_in(25);
	$body->{distinct} = 'DISTINCT ' if $random->once_in(25);
	_order($random, $made, $body) if @{ $body->{keys} } && ($body->{rows} ? !$random->once_in(3) : $random->once_in(3));
	# Of equal rows those that a LIMIT takes may have other numbers.
	$body->{windows} = _window($random, $body) if $body->{rows} && !($body->{order} && (defined $body->{order}{limit} || $body->{order}{with_ties})) && $random->once_in(2);
	# Groups of what it gives.
	$body->{is_nested} = $body->{rows} && $body->{windows} && !$body->{order} && $random->once_in(2);
	return $body;
}

# A window function of rows, whose results don't depend on the order of rows that are equal in the window's.
sub _window
{
	my ($random, $body) = @_;
	my @exact = map { $_->{sql} } grep { $_->{kind} eq 'exact' } @{ $body->{keys} };
	return undef unless @exact;
	my $is_total = @exact == @{ $body->{keys} };
	my $value = $random->pick(@exact);
	my $function = $random->pick(
		'rank()', 'dense_rank()', 'count(*)', "count($value)", 'percent_rank()', 'cume_dist()',
		($is_total ? ('row_number()', 'ntile(3)', "lag($value)", "lead($value, 2)", "lag($value, 1, $value)", "first_value($value)", "last_value($value)", "nth_value($value, 2)") : ()));
	my $partition = $random->once_in(2) ? 'PARTITION BY ' . $random->pick(@exact) . ' ' : '';
	my @by = map { $_ . $random->pick('', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST') } $is_total ? @exact : $random->pick(@exact);
	my $frame = $function =~ /count/ ? $random->pick('', ' RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING', ' RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING') : '';
	return "$function OVER ($partition" . 'ORDER BY ' . join(', ', @by) . "$frame)";
}

# A condition on a column that only another index than the gpu_column one has.
sub _left_to_other
{
	my ($random, $column) = @_;
	my $literal = sub { random_literal($random, $column->{type}) };
	return $random->pick(
		"$column->{name} = " . $literal->(), "$column->{name} " . $random->pick('<', '<=', '>', '>=') . ' ' . $literal->(), "$column->{name} BETWEEN " . $literal->() . ' AND ' . $literal->(),
		"$column->{name} IN (" . join(', ', map { $literal->() } 1 .. 3) . ')', "$column->{name} IS NULL");
}

# By aggregates first, and then by all keys, so that it is known which rows a LIMIT leaves; or by an aggregate alone, when only that is
# compared.
sub _order
{
	my ($random, $made, $body) = @_;
	my $direction = sub { $random->pick('', '', ' DESC') . $random->pick('', '', ' NULLS FIRST', ' NULLS LAST') };
	my $keys = @{ $body->{keys} };
	my @by = grep { $body->{aggregates}[$_]{kind} ne 'approximate' } 0 .. $#{ $body->{aggregates} };
	my $limit = $random->once_in(4) ? undef : $random->pick($made->constant('int8', $random->between(0, 12)), $random->between(1, 5), 'NULL');
	my $offset = $random->once_in(3) ? $made->constant('int8', $random->pick(0, 1, 3, 1000)) : undef;
	my $order = { by => [], limit => $limit, offset => $offset, is_total => 1, keys => [ map { $direction->() } 1 .. $keys ] };
	if (@by && !$random->once_in(4))
	{
		my $aggregate = $random->pick(@by);
		push @{ $order->{by} }, { aggregate => $aggregate, direction => $direction->(), of_numerics => $body->{aggregates}[$aggregate]{of_numerics} };
	}
	$order->{is_total} = 0 if @{ $order->{by} } && $random->once_in(4) && !$body->{distinct};
	if ($order->{is_total} ? $body->{rows} && $random->once_in(6) : $random->once_in(2))
	{
		# Which rows come is told, but not in which order those of the same place.
		@$order{qw(with_ties limit offset)} = ($random->between(1, 6), undef, undef);
	}
	$body->{order} = $order;
	return;
}

# ---- text -------------------------------------------------------------------------------------------------

sub _body_sql
{
	my ($body) = @_;
	my @keys = map { $_->{sql} } @{ $body->{keys} };
	my @shown = (@keys, map { _aggregate_sql($_) } @{ $body->{aggregates} });
	push @shown, 'GROUPING(' . join(', ', @keys) . ')' if $body->{sets};
	push @shown, $body->{windows} if $body->{windows};
	push @shown, '1' unless @shown;
	my $number = 0;
	my $sql = "SELECT $body->{distinct}" . join(', ', map { $_ . ' AS r' . ++$number } @shown) . ' FROM ' . join(' ', $body->{table}, @{ $body->{joins} });
	$sql .= ' WHERE ' . join(' AND ', map { "($_)" } @{ $body->{conditions} }) if @{ $body->{conditions} };
	if (@keys && !$body->{rows})
	{
		my $list = join(', ', 1 .. @keys);
		$sql .= ' GROUP BY ' . (!$body->{sets} ? $list : $body->{sets} eq 'SETS' ? "GROUPING SETS (($list), (), (1))" : "$body->{sets} ($list)");
	}
	$sql .= ' HAVING ' . join(' AND ', @{ $body->{having} }) if @{ $body->{having} };
	if (my $order = $body->{order})
	{
		my @by = map { (@keys + $_->{aggregate} + 1) . $_->{direction} } @{ $order->{by} };
		push @by, map { ($_ + 1) . ($order->{keys}[$_] // '') } 0 .. $#keys if $order->{is_total};
		# What a set leaves out is NULL, as a key may be. Of distinct rows only columns can be sorted by.
		push @by, $body->{distinct} ? @keys + @{ $body->{aggregates} } + 1 : 'GROUPING(' . join(', ', @keys) . ')' if $body->{sets};
		$sql .= ' ORDER BY ' . join(', ', @by) if @by;
		$sql .= $order->{with_ties} ? " FETCH FIRST $order->{with_ties} ROWS WITH TIES" : '';
		$sql .= " LIMIT $order->{limit}" if defined $order->{limit};
		$sql .= " OFFSET $order->{offset}" if defined $order->{offset};
	}
	return $body->{is_nested} ? "SELECT r$number AS r1, count(*) AS r2 FROM ($sql) AS s GROUP BY 1" : $sql;
}

sub _body_kinds
{
	my ($body) = @_;
	return ('exact', 'exact') if $body->{is_nested};
	my @kinds = map { $_->{kind} } @{ $body->{keys} }, @{ $body->{aggregates} };
	push @kinds, 'exact' if $body->{sets};
	push @kinds, 'exact' if $body->{windows};
	push @kinds, 'exact' unless @kinds;
	my $order = $body->{order};
	if ($order && !$order->{is_total} && !$order->{with_ties})
	{
		# Which of several rows with the same place in the order comes is not told.
		my $compared = @{ $body->{keys} } + $order->{by}[0]{aggregate};
		my $kind = $order->{by}[0]{of_numerics} ? 'numeric' : $kinds[$compared];
		@kinds = map { $_ == $compared ? $kind : 'ignored' } 0 .. $#kinds;
	}
	return @kinds;
}

# Counts of the columns from one on, and of their distinct values where these are told exactly.
sub _counts
{
	my ($from, @kinds) = @_;
	return map { ("count(s.r$_)", $kinds[ $_ - 1 ] eq 'exact' ? "count(DISTINCT s.r$_)" : ()) } ($from .. scalar @kinds);
}

# Groups that are joined with their like, by all of their keys.
sub _joined_sql
{
	my ($sql, $body, @kinds) = @_;
	my $on = join(' AND ', map { "s.r$_ = o.r$_" } (1 .. scalar @{ $body->{keys} }));
	return 'SELECT ' . join(', ', 'count(*)', _counts(1, @kinds)) . " FROM ($sql) AS s LEFT JOIN ($sql) AS o ON $on";
}

# Groups, each beside an aggregate of the table's rows that have its first key.
sub _beside_sql
{
	my ($sql, $body) = @_;
	my $key = $body->{keys}[0]{sql};
	my $of = "FROM $body->{own_table} AS q WHERE q.$key = s.r1";
	return "SELECT s.r1, (SELECT count(*) $of), (SELECT count(DISTINCT q.$key) + 1 $of) FROM ($sql) AS s WHERE (SELECT count(q.$key) $of) <> 2";
}

# What stands around a body: its text from the body's, and the kinds of its columns.
my %forms = (
	plain => { sql => sub { $_[0] }, kinds => sub { @_ } },
	counted => {
		sql => sub { "SELECT count(*), count(s.r1), count(DISTINCT s.*) > 0 FROM ($_[0]) AS s" },
		kinds => sub { ('exact') x 3 }
	},
	nested => {
		sql => sub { my ($sql, $body, @kinds) = @_; 'SELECT ' . join(', ', 's.r1', 'count(*)', _counts(2, @kinds)) . " FROM ($sql) AS s GROUP BY 1" },
		kinds => sub { ($_[0], ('exact') x (1 + _counts(2, @_))) }
	},
	beside => { sql => \&_beside_sql, kinds => sub { ($_[0], 'exact', 'exact') } },
	joined => { sql => \&_joined_sql, kinds => sub { ('exact') x (1 + _counts(1, @_)) } },
	windowed => {
		sql => sub { "SELECT s.*, count(*) OVER (), rank() OVER (ORDER BY s.r1), count(*) OVER (PARTITION BY s.r1) FROM ($_[0]) AS s" },
		kinds => sub { (@_, ('exact') x 3) }
	},
	materialized => { sql => sub { "WITH s AS MATERIALIZED ($_[0]) SELECT * FROM s UNION ALL SELECT * FROM s" }, kinds => sub { @_ } },
	lateral => { sql => sub { "SELECT o.n, s.* FROM outer_rows AS o, LATERAL ($_[0]) AS s" }, kinds => sub { ('exact', @_) } },
	scalar => { sql => sub { "SELECT o.n, ($_[0]) FROM outer_rows AS o" }, kinds => sub { ('exact', @_) } },);

sub sql_of
{
	my ($statement) = @_;
	my $body = $statement->{body};
	return $forms{ $statement->{form} }{sql}->(_body_sql($body), $body, _body_kinds($body));
}

sub _finish
{
	my ($statement) = @_;
	my @kinds = _body_kinds($statement->{body});
	$statement->{kinds} = [ $forms{ $statement->{form} }{kinds}->(@kinds) ];
	my $order = $statement->{body}{order};
	$statement->{is_ordered} = $statement->{form} eq 'plain' && $order && !$order->{with_ties} && ($order->{is_total} || @{ $order->{by} });
	return $statement;
}

sub random_statement
{
	my ($random, $table) = @_;
	my @columns = $random->once_in(20) ? @{ $table->{columns} } : @{ $table->{indexed} };
	my $made = PgGpuTest::Fuzz::Expressions->new($random, @columns);
	$made->{table} = $table->{name} if $random->once_in(3);
	$made->{own} = { map { $_->{name} => 1 } @columns } if _may_look_up($table);
	my $form = $random->pick(('plain') x 12, ('nested') x 2, 'joined', 'beside', 'counted', 'windowed', 'materialized', 'lateral', 'scalar');
	$made->{outer} = { int4 => 'o.i4', int8 => 'o.i8', text => 'o.t', date => 'o.d', numeric => 'o.n4' } if $form =~ /lateral|scalar/;
	$made->{parameters} = [] if !$made->{outer} && $random->once_in(5);
	my $body = _body($random, $made, $table, $table->{for_joins} || $random->once_in(2) ? _joins($random, $table) : ());
	if ($form eq 'scalar')
	{
		@$body{qw(keys rows having sets windows order distinct)} = ([], 0, [], undef, undef, undef, '');
		$body->{aggregates} = [ $body->{aggregates}[0] // { sql => 'count(*)', kind => 'exact' } ];
	}
	# Ranks of numbers that differ in their last digits may differ.
	my $first = (_body_kinds($body))[0];
	$form = 'plain' if $form =~ /windowed|counted|nested|beside/ && $first =~ /approximate|ignored/;
	my @kinds = _body_kinds($body);
	# PostgreSQL goes through the table for each group.
	$form = 'nested' if $form eq 'beside' && ($body->{rows} || $table->{rows} > 3000 || !@{ $body->{keys} } || $body->{keys}[0]{sql} !~ /^c\d+$/);
	# Rows would meet too often.
	$form = 'nested' if $form eq 'joined' && ($body->{rows} || !@{ $body->{keys} } || $body->{sets});
	$form = 'plain' if $form =~ /windowed|counted|lateral|nested|joined|beside/ && grep { $_ eq 'ignored' } @kinds;
	# Nor need a row be computed that a LIMIT leaves out.
	my $has_limit = $body->{order} && (defined $body->{order}{limit} || $body->{order}{with_ties});
	# Without groups the first of all values may be found before all rows are read.
	$has_limit ||= !@{ $body->{keys} } && grep { $_->{sql} =~ /^(min|max|bool_|every)/ } @{ $body->{aggregates} };
	return _finish({
		form => $form, body => $body, parameters => $made->{parameters}, risks => $made->{risks}, order_decides => $body->{order_decides},
		has_joins => $body->{has_joins}, has_limit => $has_limit
	});
}

# ---- simpler ones -----------------------------------------------------------------------------------------

sub _without { my ($list, $index) = @_; my @rest = @$list; splice(@rest, $index, 1); return \@rest; }

sub simpler_statements
{
	my ($statement) = @_;
	my $body = $statement->{body};
	my @simpler;
	my $add = sub { push @simpler, _finish({ %$statement, body => { %$body, @_ } }); };
	push @simpler, _finish({ %$statement, form => 'plain' }) if $statement->{form} =~ /counted|windowed|materialized|nested|joined|beside/;
	$add->(table => $body->{own_table}) if $body->{table} ne $body->{own_table};
	$add->(order => undef) if $body->{order};
	$add->(sets => undef) if $body->{sets};
	$add->(windows => undef) if $body->{windows};
	$add->(distinct => '') if $body->{distinct};
	$add->(having => []) if @{ $body->{having} };
	$add->(joins => _without($body->{joins}, $_)) foreach 0 .. $#{ $body->{joins} };
	$add->(conditions => _without($body->{conditions}, $_)) foreach 0 .. $#{ $body->{conditions} };
	if (!$body->{order})
	{
		$add->(keys => _without($body->{keys}, $_)) foreach 0 .. $#{ $body->{keys} };
		foreach my $i (0 .. $#{ $body->{aggregates} })
		{
			my @aggregates = @{ $body->{aggregates} };
			$add->(aggregates => _without(\@aggregates, $i)) if @aggregates > 1 || @{ $body->{keys} };
			next unless defined $aggregates[$i]{filter};
			$aggregates[$i] = { %{ $aggregates[$i] }, filter => undef };
			$add->(aggregates => \@aggregates);
		}
	}
	return @simpler;
}

1;
